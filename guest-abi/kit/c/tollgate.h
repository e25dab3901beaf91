/* What a rule module may ask of Tollgate, in C. A test writes this file from the table of imports; docs/abi.md explains it. */
#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stdint.h>

#define TOLLGATE_ABI_VERSION 1

/* Stands before the definition of `int64_t evaluate(void)`: bit 0 of what it returns is set when the rule matches. */
#define TOLLGATE_EVALUATE __attribute__((export_name("evaluate")))

/* Once in a module, outside of functions: puts in the file with the manifest. Its path is as from where the compiler runs,
 * or from a folder given with -I. */
#define TOLLGATE_MANIFEST(path) \
    __asm__(".section .custom_section.tollgate.manifest,\"\",@\n.incbin \"" path "\"\n.text\n")

#define TOLLGATE_IMPORT(name) __attribute__((import_module("tollgate"), import_name(name)))

#define TOLLGATE_KIND_MISSING 0 /* nothing is there */
#define TOLLGATE_KIND_BOOLEAN 1 /* true or false */
#define TOLLGATE_KIND_NUMBER 2 /* a JSON number */
#define TOLLGATE_KIND_TEXT 3 /* a text */
#define TOLLGATE_KIND_TIME 4 /* a date-time field */
#define TOLLGATE_KIND_STRUCTURE 5 /* an object or an array */

#define TOLLGATE_RELATION_EQUAL 1 /* == */
#define TOLLGATE_RELATION_NOT_EQUAL 2 /* != */
#define TOLLGATE_RELATION_LESS 4 /* < and <= */
#define TOLLGATE_RELATION_GREATER 8 /* > and >= */
#define TOLLGATE_RELATION_LEVEL 16 /* <= and >= */

#define TOLLGATE_TEST_MISSING 0 /* the value, or the list, is missing: neither the test nor its opposite holds */
#define TOLLGATE_TEST_NO 1 /* the opposite holds */
#define TOLLGATE_TEST_YES 2 /* the test holds */

#define TOLLGATE_FUEL_PER_RUN 1000000 /* fuel of one call of evaluate */
#define TOLLGATE_FUEL_PER_TEXT_BYTE 1 /* fuel for each byte of a text that a call reads */
#define TOLLGATE_FUEL_PER_SEARCHED_BYTE 16 /* fuel for each byte of a text that a pattern is searched in */
#define TOLLGATE_HOST_CALLS_MAX 256 /* calls to the host on one transaction */
#define TOLLGATE_MEMORY_PAGES_MAX 16 /* memory, in pages of 64 KiB */
#define TOLLGATE_REASON_BYTES_MAX 1024 /* longest reason, in bytes */

/* The field as a number; NaN when it is missing, or no plain decimal number. */
TOLLGATE_IMPORT("number") double tollgate_number(int32_t field);

/* Which of the manifest's texts the field is, to the letter; -1 when it is none of them. */
TOLLGATE_IMPORT("symbol") int32_t tollgate_symbol(int32_t field);

/* What stands in the field: one of the kinds. */
TOLLGATE_IMPORT("kind") int32_t tollgate_kind(int32_t field);

/* The relations that hold between two fields, as bits; 0 when either is missing. */
TOLLGATE_IMPORT("relate") int32_t tollgate_relate(int32_t field, int32_t other);

/* The relations that hold between a field and a text of the manifest, as bits. */
TOLLGATE_IMPORT("relate_text") int32_t tollgate_relate_text(int32_t field, int32_t text);

/* Whether the field is in the list: one of the tests. */
TOLLGATE_IMPORT("member") int32_t tollgate_member(int32_t field, int32_t list);

/* Whether a computed number is in the list: one of the tests. */
TOLLGATE_IMPORT("member_number") int32_t tollgate_member_number(double number, int32_t list);

/* Whether a text of the manifest is in the list: one of the tests. */
TOLLGATE_IMPORT("member_text") int32_t tollgate_member_text(int32_t text, int32_t list);

/* Whether the pattern is found in the field: one of the tests. */
TOLLGATE_IMPORT("matches") int32_t tollgate_matches(int32_t field, int32_t pattern);

/* Whether the pattern is found in the plain decimal text of a number: one of the tests. */
TOLLGATE_IMPORT("matches_number") int32_t tollgate_matches_number(double number, int32_t pattern);

/* The value of a question to the history; never NaN. */
TOLLGATE_IMPORT("aggregate") double tollgate_aggregate(int32_t aggregate);

/* 1 when there is such a past transaction, else 0. */
TOLLGATE_IMPORT("previous") int32_t tollgate_previous(int32_t previous);

/* That part of the date-time; NaN when it is missing, or no date-time. */
TOLLGATE_IMPORT("time_part") double tollgate_time_part(int32_t time);

/* How many bytes the field's text has, -1 when it is no text; as many whole characters as fit are written, in UTF-8. */
TOLLGATE_IMPORT("text") int32_t tollgate_text(int32_t field, void *pointer, int32_t capacity);

/* The score of this match, clamped to 0 to 1; a NaN or an infinity ends the evaluation. */
TOLLGATE_IMPORT("set_score") void tollgate_set_score(int32_t rule, double score);

/* The reason of this match: UTF-8, at most REASON_BYTES_MAX bytes. */
TOLLGATE_IMPORT("set_reason") void tollgate_set_reason(int32_t rule, const void *pointer, int32_t length);

/* The field as a double that compares exactly with the double of every number of at most 15 significant digits. */
TOLLGATE_IMPORT("comparable") double tollgate_comparable(int32_t field);

/* The value of a question to the history as such a double; never NaN. */
TOLLGATE_IMPORT("comparable_aggregate") double tollgate_comparable_aggregate(int32_t aggregate);

/* The relations that hold between two operands, as bits; numbers compare exactly. */
TOLLGATE_IMPORT("relate_operands") int32_t tollgate_relate_operands(int32_t operand, int32_t other);

/* Whether an operand is in the list: one of the tests. */
TOLLGATE_IMPORT("member_operand") int32_t tollgate_member_operand(int32_t operand, int32_t list);

#endif
