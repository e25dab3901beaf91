/* The number of a payment card in the text of a payment, where nobody may keep one: 13 to 19 digits, blanks and hyphens
 * between them allowed, whose check digit holds. Small payments of the same account before it make it look like somebody
 * who tries out stolen cards. */
#include "tollgate.h"

TOLLGATE_MANIFEST("manifest.json");

/* Slots of the manifest. */
enum { DESCRIPTION = 0 };
enum { SMALL_PAYMENTS_WITHIN_THE_HOUR = 0 };

enum { DESCRIPTION_BYTES_MAX = 1024, DIGITS_MIN = 13, DIGITS_MAX = 19, DIGITS_SHOWN = 4 };

static char description[DESCRIPTION_BYTES_MAX];
static char reason[TOLLGATE_REASON_BYTES_MAX];

/* The check digit of a card: from the right, every second digit counts twice, and its own digits are summed up. */
static int32_t holds(const char *digits, int32_t n_digits) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n_digits; i++) {
        int32_t value = digits[n_digits - 1 - i] - '0';
        if (i % 2 == 1) {
            value *= 2;
        }
        sum += value > 9 ? value - 9 : value;
    }
    return sum % 10 == 0;
}

/* Whether a card's number stands in the text; its last digits are written to `last`. */
static int32_t find_card(const char *text, int32_t n_bytes, char last[DIGITS_SHOWN]) {
    char digits[DIGITS_MAX + 1];
    int32_t n_digits = 0;
    for (int32_t i = 0; i <= n_bytes; i++) {
        char byte = i < n_bytes ? text[i] : '\0';
        if (byte >= '0' && byte <= '9') {
            if (n_digits <= DIGITS_MAX) {
                digits[n_digits++] = byte;
            }
            continue;
        }
        if ((byte == ' ' || byte == '-') && i + 1 < n_bytes && text[i + 1] >= '0' && text[i + 1] <= '9') {
            continue;
        }
        if (n_digits >= DIGITS_MIN && n_digits <= DIGITS_MAX && holds(digits, n_digits)) {
            for (int32_t j = 0; j < DIGITS_SHOWN; j++) {
                last[j] = digits[n_digits - DIGITS_SHOWN + j];
            }
            return 1;
        }
        n_digits = 0;
    }
    return 0;
}

static int32_t append(int32_t n_bytes, const char *words) {
    while (*words != '\0' && n_bytes < TOLLGATE_REASON_BYTES_MAX) {
        reason[n_bytes++] = *words++;
    }
    return n_bytes;
}

TOLLGATE_EVALUATE int64_t evaluate(void) {
    int32_t n_bytes = tollgate_text(DESCRIPTION, description, DESCRIPTION_BYTES_MAX);
    if (n_bytes > DESCRIPTION_BYTES_MAX) {
        n_bytes = DESCRIPTION_BYTES_MAX;
    }
    char last[DIGITS_SHOWN + 1] = {0};
    /* No text at all is -1 bytes long, and has no card in it. */
    if (!find_card(description, n_bytes, last)) {
        return 0;
    }
    int32_t length = append(append(0, "Card number ending in "), last);
    length = append(length, " in the description");
    if (tollgate_aggregate(SMALL_PAYMENTS_WITHIN_THE_HOUR) >= 3) {
        length = append(length, ", after small payments of the same account");
        tollgate_set_score(0, 0.95);
    }
    tollgate_set_reason(0, reason, length);
    return 1;
}
