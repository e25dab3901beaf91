// Generated from /openapi.json by `npm run types`, with openapi-typescript. Do not edit.

export interface components {
    schemas: {
        /**
         * @description An exact amount in units of the currency, with at most 38 digits: a number, or the same digits as a text. Answers have a
         *     number, unless the request has `Accept: application/json; decimals=string`.
         * @example 129.9
         */
        Amount: number | components["schemas"]["DecimalText"];
        /** @description The result for one transaction, returned and stored by the service. It never changes. */
        Assessment: {
            /**
             * Format: date-time
             * @description Time of the evaluation, RFC 3339.
             */
            evaluated_at: string;
            /** @description Rules that failed, and reasons to hold every transaction. */
            failures: components["schemas"]["FailedRule"][];
            /**
             * @description Reasons of the severest 16 matched rules, then a note for each of the first 16 failed rules. If there are more,
             *     it ends with their number: `; and 384 more`.
             */
            reason: string;
            /**
             * Format: int64
             * @description Version of the rule set that was evaluated.
             */
            rule_set_version: number;
            /**
             * Format: double
             * @description Highest score of the matched rules; 0 if none matched.
             */
            score: number;
            /**
             * @description Id of the transaction; generated if none was sent.
             * @example txn_1
             */
            transaction_id: string;
            /** @description Matched rules, severest first. */
            triggered: components["schemas"]["Triggered"][];
            /** @description Most severe verdict of the matched rules; at least `review` if a rule failed. */
            verdict: components["schemas"]["FinalVerdict"];
        };
        /** @description The answer to a line of a batch. */
        BatchLineAnswer: components["schemas"]["Assessment"] | components["schemas"]["UnjudgedAnswer"];
        /** @description A rule that was compiled and is not saved. */
        CompiledScript: {
            /** @description Worst case of one evaluation. */
            cost: components["schemas"]["Cost"];
            /** @description Purpose of the rule; null if its author states none. */
            description: string | null;
            estimate: components["schemas"]["Estimate"] | null;
            /**
             * @description The fields of the transaction that it reads.
             * @example [
             *       "amount",
             *       "metadata.device_id"
             *     ]
             */
            fields: string[];
            /** @description The named lists that it uses. */
            lists: string[];
            /** @description Name of the rule. */
            name: string;
            /** @description Reason shown to an analyst. */
            reason: string;
            /**
             * Format: double
             * @description Risk from 0 (low) to 1 (high).
             */
            score: number;
            /** @description SHA-256 digest of its module, in lower-case hexadecimal digits. */
            sha256: string;
            /** @description Verdict of the rule when it matches. */
            verdict: components["schemas"]["Verdict"];
        };
        /** @description Static worst case of one evaluation. It is finite because the language has no loops. */
        Cost: {
            /**
             * Format: int32
             * @description History lookups among those calls.
             */
            history_lookups: number;
            /**
             * Format: int32
             * @description Calls from the module to the host.
             */
            host_calls: number;
            /**
             * Format: int32
             * @description WebAssembly instructions executed.
             */
            instructions: number;
        };
        /** @description An alert that no webhook accepted. */
        DeadLetter: {
            /**
             * Format: int32
             * @description Number of failed attempts.
             */
            attempts: number;
            /** @description Time at which the transaction was accepted. */
            created_at: string;
            /** @description Time at which delivery was given up. */
            dead_since: string;
            /**
             * @description Error of the last attempt.
             * @example status 500
             */
            error: string;
            /**
             * @description The id that was sent in `webhook-id`.
             * @example alert_0198f3d2c1d47a3e9b1f2a6c5d4e3f21
             */
            id: string;
            /** @description The payload that was sent. */
            payload: Record<string, unknown>;
            /** @description Id of the transaction. */
            transaction_id: string;
        };
        /** @description Alerts that no webhook accepted. */
        DeadLetters: {
            /**
             * Format: int64
             * @description Total number of dead letters.
             */
            count: number;
            /** @description The oldest dead letters, at most 100 without `limit`. */
            dead_letters: components["schemas"]["DeadLetter"][];
            /**
             * Format: int64
             * @description Number of alerts still being delivered.
             */
            pending: number;
        };
        /** @description Ledger rows and events that could not be accepted. */
        DeadLettersView: {
            /**
             * Format: int64
             * @description Total number of dead letters.
             */
            count: number;
            /** @description The latest dead letters, at most 200 without `limit`, latest first. */
            dead_letters: components["schemas"]["LedgerDeadLetter"][];
        };
        /**
         * @description A decimal number as a text, with at most 38 digits.
         * @example 129.90
         */
        DecimalText: string;
        /** @description An error or a warning about a script. */
        Diagnostic: {
            /**
             * @description The stable code, for programs.
             * @example E201
             */
            code: string;
            /**
             * Format: int32
             * @description Start column, from 1, in characters.
             */
            column: number;
            /** @description Position after the last character. */
            end: components["schemas"]["Position"];
            /** @description How to fix the problem, where known. */
            help: string | null;
            /**
             * Format: int32
             * @description Start line, from 1.
             */
            line: number;
            /** @description Description of the problem, on one line. */
            message: string;
            /** @description Whether this is an error or a warning. */
            severity: components["schemas"]["DiagnosticSeverity"];
        };
        /**
         * @description The severity of a diagnostic; `error` prevents the rule from being saved.
         * @enum {string}
         */
        DiagnosticSeverity: "error" | "warning";
        /** @description The body of every error response. */
        Error: {
            /** @description All checks that the module failed; only with `module_refused`. */
            checks?: components["schemas"]["FailedCheck"][];
            /**
             * @description Stable error code for programs.
             * @example missing_field
             */
            code: string;
            /** @description All diagnostics in the order of the script; only with `compile_error`. */
            diagnostics?: components["schemas"]["Diagnostic"][];
            /** @description Message for people: one line, in which quoted input is escaped and truncated. */
            error: string;
            /** @description The estimated cost of the rule; only with `too_expensive`. */
            estimate?: components["schemas"]["Estimate"];
            /** @description The invalid field, or the path of a value below it, if there is one. */
            field?: string;
            /**
             * Format: int64
             * @description The line that the error is about, counted from 1; only in answers of `POST /inject/batch`.
             */
            line?: number;
            /** @description Everything that the rule or the change needs but is not granted; only with `policy_denied`. */
            missing?: string[];
            /** @description The id of the other transaction with the hash; only with `duplicate_hash`. */
            transaction_id?: string;
        };
        /** @description Cost of the questions of a rule about the history, estimated from a sample of the stored transactions. */
        Estimate: {
            /**
             * Format: int64
             * @description Fuel that reading the history takes, on average of the latest transactions.
             */
            fuel: number;
            /**
             * Format: int64
             * @description Memory of what the history has to add for the rule, in bytes, while none of it is in the spill file.
             */
            history_bytes: number;
            /**
             * Format: int64
             * @description The part of `history_bytes` that must fit into memory while the history is read for the rule.
             */
            kept_bytes: number;
            /**
             * Format: int64
             * @description Number of transactions stored.
             */
            transactions: number;
        };
        /** @description An event. */
        Event: {
            /**
             * @description JSON.
             * @example {"rule_set_version":812}
             */
            data: string;
            /**
             * @description `tick`, `verdicts`, `rules` or `resync`.
             * @example rules
             */
            event: string;
            /**
             * @description Number of the last durable record.
             * @example 1042
             */
            id?: string;
        };
        /** @description A check that a module failed. */
        FailedCheck: {
            /**
             * @description Stable name of the check.
             * @example imports
             */
            check: string;
            /** @description Message for people. */
            message: string;
            /** @description Offset of the invalid byte in the module, counted from 0; null if there is no single position. */
            offset: number | null;
        };
        /** @description A file that is not in force as committed. Its last valid version, if any, stays in force. */
        FailedFile: {
            /** @description Column of the first error, counted from 1. */
            column: number | null;
            /** @description Line of the first error, counted from 1; null if the error has no position. */
            line: number | null;
            /** @description Message for people. */
            message: string;
            /** @description Path relative to the top of the repository. */
            path: string;
        };
        /** @description A rule that failed, or a reason to hold every transaction. A failure never counts as approval. */
        FailedRule: {
            /** @description Cause of the failure. */
            failure: components["schemas"]["Failure"];
            /**
             * Format: int64
             * @description Instruction of the rule; 0 if the failure is not of a rule.
             */
            instruction_id: number;
            /** @description Name of the rule; of the readiness check with `not_ready` and `clock`. Only the first 16 rules have one. */
            name?: string;
        };
        /** @description A transaction on which a rule failed. */
        FailedRun: {
            /** @description Kind of failure. */
            failure: components["schemas"]["Failure"];
            /**
             * Format: int64
             * @description Fuel that the run used; null if the rule was not run.
             */
            fuel: number | null;
            /** @description The transaction. */
            hit: components["schemas"]["VerdictRow"];
            /** @description Message of the trap, or of the host; null if the rule was not run. */
            message: string | null;
        };
        /**
         * @description The ways in which a rule can fail.
         * @enum {string}
         */
        Failure: "trap" | "fuel" | "budget" | "memory" | "stack" | "timeout" | "host_call" | "host_call_limit" | "invalid_output" | "lookup" | "list" | "internal" | "quarantined" | "left_out" | "not_ready" | "clock";
        /**
         * @description The verdict on a transaction, mildest first. It is also the severity of the verdict of a rule: `allow` counts as
         *     `approve`, and `deny` as `block`.
         * @enum {string}
         */
        FinalVerdict: "approve" | "alert" | "review" | "block";
        /** @description Result of a clone. */
        GitClone: {
            /** @description The followed branch. */
            branch: string;
            /** @description Message for people. */
            message: string;
            /** @description The local rules directory. */
            path: string;
        };
        /** @description A repository to clone. */
        GitCloneRequest: {
            /**
             * @description The branch to follow; the remote's default branch if absent.
             * @example main
             */
            branch?: string | null;
            /** @description Access token for the remote. */
            token?: string | null;
            /**
             * @description Address of the repository; it may contain a percent-encoded user and password. By default only HTTPS to public
             *     hosts is allowed.
             * @example https://git.example/team/rules.git
             */
            url: string;
        };
        /** @description The last error. */
        GitError: {
            /**
             * Format: date-time
             * @description Time of the error.
             */
            at: string;
            /** @description The error code. */
            code: string;
            /** @description Message for people. */
            message: string;
        };
        /** @description Result of a push. */
        GitPush: {
            /** @description The branch. */
            branch: string;
            /** @description Head of the branch, locally and on the remote. */
            commit: string;
            /** @description The changed files, by path. */
            files: string[];
            /** @description Message for people. */
            message: string;
        };
        /** @description Options of a push. */
        GitPushRequest: {
            /**
             * @description The commit message.
             * @example Raise the limit for cards
             */
            message: string;
        };
        /** @description State of the rules relative to their repository. */
        GitStatus: {
            /** @description Number of commits that are only on the local branch. */
            ahead: number;
            /** @description Number of commits that are only on the remote branch. */
            behind: number;
            /** @description The followed branch. */
            branch: string | null;
            /** @description Whether a repository is configured. */
            configured: boolean;
            /** @description The commit whose rules are in force. */
            current_commit: string | null;
            /** @description Rule files of the local branch that are missing from the work tree. */
            deleted: string[];
            /** @description Files that are not in force as committed. */
            failed: components["schemas"]["FailedFile"][];
            /**
             * @description Whether the remote branch does not descend from the commit in force. The rules then stay until an operator
             *     decides.
             */
            history_rewritten: boolean;
            /**
             * @description Files that changed both locally and on the remote. Until this is resolved, the work tree stays behind the remote
             *     branch.
             */
            in_the_way: string[];
            last_error: components["schemas"]["GitError"] | null;
            /**
             * Format: date-time
             * @description Time of the last successful fetch.
             */
            last_sync: string | null;
            /** @description The local rules directory: a work tree for people and for push. */
            local_path: string;
            /** @description Rule files of the work tree that differ from the local branch. */
            modified: string[];
            /** @description Rules and lists changed over the API whose files are not updated yet; the update is retried. */
            not_written: components["schemas"]["NotWritten"][];
            /** @description Head of the remote branch at the last fetch. */
            remote_commit: string | null;
            /** @description Rule files of the work tree that are not on the local branch. */
            untracked: string[];
            /** @description Whether `current_commit` equals `remote_commit`. */
            up_to_date: boolean;
            /** @description Address of the repository, without credentials. */
            url: string | null;
        };
        /** @description Changes by path. An empty list means that nothing changed. */
        GitSync: {
            /** @description The commit whose rules are in force. */
            after: string;
            /** @description The commit whose rules were in force before; null if there was none. */
            before: string | null;
            /** @description Files whose text or path changed. */
            changed: string[];
            /** @description Files that are not in force as committed. */
            failed: components["schemas"]["FailedFile"][];
            /** @description Files that were not in force before. */
            loaded: string[];
            /** @description Files that no longer exist; their instructions and lists are removed. */
            removed: string[];
            /** @description Local reference that keeps commits dropped from the local branch; null if none were dropped. */
            replaced: string | null;
            /**
             * Format: int64
             * @description Version of the rule set in force.
             */
            rule_set_version: number;
        };
        /** @description Options of a sync. */
        GitSyncRequest: {
            /** @description Whether to accept a branch with rewritten history, and a commit in which a list is refused; false if absent. */
            force?: boolean | null;
        };
        /** @description Response of a live process. */
        Health: {
            /**
             * @description Always `ok`.
             * @example ok
             */
            status: string;
        };
        /** @description The transactions that a rule matched last, and how many it matched in the last 24 hours. */
        Hits: {
            /** @description The latest 10 transactions at most on which it failed, the last one first; absent if there is none. */
            failed?: components["schemas"]["FailedRun"][];
            /**
             * Format: int64
             * @description Transactions on which it failed in these hours.
             */
            failures: number;
            /** @description The latest 50 at most, the last one first. */
            hits: components["schemas"]["VerdictRow"][];
            /** @description Transactions that it matched in each of the last 24 hours, the oldest first; the last hour is under way. */
            hourly: number[];
        };
        /** @description An identifier of at most 255 bytes in UTF-8, without characters that control or reorder the text around them. */
        Id: string;
        /**
         * @description Id of a transaction or an account: at most 255 bytes in UTF-8, without invisible characters and without blanks at
         *     either end. Joiners and variation selectors are accepted where they change the rendering; the pattern does not
         *     express this. An empty text counts as absent.
         */
        Identifier: string;
        /** @description A test of a rule that received a value it cannot compare. Such a test is false; `!=` and negated tests are true. */
        Incomparable: {
            /** @description Column of the test in characters, counted from 1. */
            column: number;
            /**
             * Format: int64
             * @description Number of transactions in which this occurred; 1,000 means 1,000 or more.
             */
            count: number;
            /**
             * @description The field that held the value.
             * @example metadata.expires_at
             */
            field: string;
            /**
             * @description Type of the value: `boolean`, `number`, `text` or `structure` (an array or an object). The value itself is not
             *     stored.
             * @example text
             */
            got: string;
            /** @description Line of the test in the script, counted from 1. */
            line: number;
            /**
             * @description Text of the test, at most 120 characters.
             * @example metadata.expires_at < timestamp
             */
            test: string;
            /**
             * @description Type that the test can compare: `boolean`, `number`, `text` or `time`.
             * @example time
             */
            wanted: string;
        };
        /** @description A status that a ledger reported and that did not stand. */
        IneffectiveStatus: {
            /**
             * Format: date-time
             * @description Time of the first report.
             */
            accepted_at: string;
            /** @description Name of the event. */
            event: string;
            /** @description The reported status. */
            status: string;
        };
        /** @description A rule as written, script or module, and everything derived from it. */
        Instruction: {
            /**
             * Format: date-time
             * @description Time at which the instruction was first saved.
             */
            created_at: string;
            /** @description Purpose of the rule; null if its author states none. */
            description: string | null;
            estimate: components["schemas"]["Estimate"] | null;
            /**
             * Format: int64
             * @description Id of the instruction; never reused.
             */
            id: number;
            /**
             * @description Tests of the rule that received a value they cannot compare, since the rule came into force or the service
             *     started. Always empty for a module; tests on past transactions are not counted.
             */
            incomparable: components["schemas"]["Incomparable"][];
            /** @description The compiled module. */
            module: components["schemas"]["Module"];
            /** @description Name of the rule; unique among the instructions in force. */
            name: string;
            /**
             * Format: double
             * @description Share of what it asks that the history has gathered, from 0 to 1; null unless the status is `activating`.
             * @example 0.42
             */
            progress: number | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            /** @description Reason shown to an analyst. */
            reason: string;
            refused_change: components["schemas"]["RefusedChange"] | null;
            /** @description The checked rule: names resolved, types settled; null if there is no script. */
            rule: Record<string, unknown> | null;
            /**
             * Format: double
             * @description Risk from 0 (low) to 1 (high).
             */
            score: number;
            /** @description The script as written; null if the rule is a module. */
            script: string | null;
            /** @description Origin of the instruction. */
            source: components["schemas"]["InstructionSource"];
            /**
             * @description `active`: the rule is in force. `activating`: the rule waits until the history covers its windows.
             *     `quarantined`: the rule does not run, and every transaction is held for review instead. `suspended`: the same,
             *     because the history has no memory for what the rule asks.
             * @example active
             */
            status: string;
            /**
             * Format: date-time
             * @description Time at which its script or module last changed.
             */
            updated_at: string;
            /** @description Verdict of the rule when it matches. */
            verdict: components["schemas"]["Verdict"];
            /** @description Warnings of the compiler; always empty for a module. */
            warnings: components["schemas"]["Diagnostic"][];
            /**
             * @description How many of the latest transactions it would have matched, such as `480 of 500`. Null except in the answer to a save of
             *     a rule whose verdict is `review` or severer, if these are more than half of at least 100.
             * @example 480 of 500
             */
            would_have_matched: string | null;
        };
        /** @description A rule to compile. */
        InstructionScript: {
            /**
             * @description The rule script, at most 65,536 bytes.
             * @example rule Large { when amount > 10000 then review score 0.7 reason "Large amount" }
             */
            script: string;
        };
        /** @description The origin of an instruction or a named list. */
        InstructionSource: {
            /** @enum {string} */
            kind: "api";
        } | {
            /** @enum {string} */
            kind: "upload";
        } | {
            /** @enum {string} */
            kind: "file";
            /** @description Path relative to that directory, separated by `/`. */
            path: string;
        } | {
            /** @description Commit whose content is in force, in hexadecimal. */
            commit: string;
            /** @enum {string} */
            kind: "git";
            /** @description Path relative to the root of the repository, separated by `/`. */
            path: string;
        };
        /** @description A rule in short, with what it did. */
        InstructionSummary: {
            /** @description Worst case of one evaluation. */
            cost: components["schemas"]["Cost"];
            /**
             * Format: date-time
             * @description Time at which the instruction was first saved.
             */
            created_at: string;
            /** @description Purpose of the rule; null if its author states none. */
            description: string | null;
            /**
             * Format: int64
             * @description Transactions on which it failed in these hours.
             */
            failures: number;
            /**
             * Format: int64
             * @description The sum of `hourly`.
             */
            hits: number;
            /** @description Transactions that it matched in each of the last 24 hours, the oldest first; the last hour is under way. */
            hourly: number[];
            /**
             * Format: int64
             * @description Id of the instruction.
             */
            id: number;
            /** @description Name of the rule. */
            name: string;
            quarantine: components["schemas"]["Quarantine"] | null;
            refused_change: components["schemas"]["RefusedChange"] | null;
            /**
             * Format: double
             * @description Risk from 0 (low) to 1 (high).
             */
            score: number;
            /** @description Origin of the instruction. */
            source: components["schemas"]["InstructionSource"];
            /**
             * @description `active`, `activating`, `quarantined` or `suspended`, as of an instruction.
             * @example active
             */
            status: string;
            /**
             * Format: date-time
             * @description Time at which its script or module last changed.
             */
            updated_at: string;
            /** @description Verdict of the rule when it matches. */
            verdict: components["schemas"]["Verdict"];
        };
        /** @description A ledger row or event that could not be accepted. */
        LedgerDeadLetter: {
            /** @description Time of the row, as the ledger's database formats it. */
            created_at: string;
            /** @description Reason, for people. */
            detail: string;
            /**
             * Format: date-time
             * @description Time at which the dead letter was recorded.
             */
            found_at: string;
            /**
             * Format: int64
             * @description Number of the dead letter.
             * @example 7
             */
            id: number;
            /**
             * @description Whether the dead letter is an event or a hook and can be replayed. A corrected row is read again without a
             *     replay.
             */
            is_event: boolean;
            /**
             * @description Reason code: an error code of `POST /inject`, `too_large`, `transaction_conflict`, or one of the following.
             *     `exceeds_hold` and `not_held` mean that the entry contradicts a hold. `unreadable` means that the ledger's
             *     database cannot return the row.
             * @example invalid_field
             */
            reason: string;
            /** @description Values of the row as texts, at most 256 characters each, or the event as it was sent. */
            row: Record<string, unknown>;
            /** @description Id of the row, at most 256 characters. */
            transaction_id: string;
        };
        /** @description A named list without its entries. */
        List: {
            /** @description Number of entries. */
            count: number;
            /**
             * @description Name of the list, as scripts write it after the `$`.
             * @example high_risk_countries
             */
            name: string;
            /** @description SHA-256 digest of its text, in lower-case hexadecimal digits. */
            sha256: string;
            /** @description Origin of the list; only lists set over the API can be changed over the API. */
            source: components["schemas"]["InstructionSource"];
            /** @description The rules in force that look into it. */
            used_by: components["schemas"]["ListUser"][];
        };
        /** @description An entry of a list, unchanged. */
        ListEntry: string;
        /** @description A line of a list. */
        ListLine: {
            /**
             * @description The entry that it is read as; null for a comment.
             * @example acc-1
             */
            entry: string | null;
            /** @description Number of the line, from 1. */
            line: number;
            /**
             * @description The line as it was sent.
             * @example acc-1 # since May
             */
            text: string;
        };
        /** @description How a text is read as a list. */
        ListReading: {
            /** @description Number of entries. */
            count: number;
            /** @description The first 100,000 lines that are not empty. */
            lines: components["schemas"]["ListLine"][];
            /** @description How many more lines there are. */
            n_more_lines: number;
            /** @description How many more warnings there are. */
            n_more_warnings: number;
            /** @description Entries that may not be what was meant, the first 100. */
            warnings: components["schemas"]["ListWarning"][];
        };
        /** @description A text to read as a list. */
        ListToCheck: {
            /**
             * @description The text, in the format of a list file.
             * @example acc-1 # since May
             *     acc-2
             */
            text: string;
        };
        /** @description A rule that looks into a list. */
        ListUser: {
            /**
             * Format: int64
             * @description Id of the instruction.
             */
            id: number;
            /** @description Name of the rule. */
            name: string;
        };
        /** @description An entry of a list that may not be what was meant. */
        ListWarning: {
            /** @description The entry as it is in force. */
            entry: string;
            /** @description Message for people. */
            message: string;
            /** @description Its number, from 1: the position in an array, the line of a text. */
            position: number;
        };
        /** @description A named list with its entries. */
        ListWithEntries: components["schemas"]["List"] & {
            /** @description Entries in the order of the list. */
            entries: string[];
        };
        /** @description The WebAssembly module of a rule. */
        Module: {
            /**
             * Format: int32
             * @description ABI version of the module.
             */
            abi_version: number;
            /** @description Size in bytes. */
            bytes: number;
            /** @description Worst case of one evaluation: computed by the compiler for a script, the granted limit for a module. */
            cost: components["schemas"]["Cost"];
            /** @description SHA-256 digest of the module, in lower-case hexadecimal digits. */
            sha256: string;
        };
        /** @description A change over the API that is in force but not in the work tree. */
        NotWritten: {
            /** @description `rule` or `list`. */
            kind: string;
            /** @description Message for people: the problem and its remedy. */
            message: string;
            /** @description Name of the rule or list. */
            name: string;
            /** @description The conflicting file; null if the cause is not a file. */
            path: string | null;
        };
        /** @description An identifier as above, or an empty text, which counts as absent. */
        OptionalId: string;
        /** @description A position for people. Both numbers start at 1; columns count characters, and a tab is one character. */
        Position: {
            /**
             * Format: int32
             * @description The column; a byte order mark at the start of the script has none.
             */
            column: number;
            /**
             * Format: int32
             * @description The line; lines end with a line feed.
             */
            line: number;
        };
        /** @description The quarantine of a rule. */
        Quarantine: {
            /**
             * @description `failures`: the rule failed repeatedly and an operator has to act. `policy`: the rule is no longer granted what
             *     it needs. `module`: its module no longer passes admission. These two are checked again at every start.
             *     `sustained_cost`: the rules of its owner kept taking too long while other transactions waited. `memory`: the
             *     history has no memory for what the rule asks. `refused`: there is no rule, because the file was refused when its
             *     source was new.
             */
            cause: components["schemas"]["QuarantineCause"];
            /** @description Message for people. */
            reason: string;
            /**
             * Format: date-time
             * @description Start of the quarantine.
             */
            since: string;
        };
        /**
         * @description The cause of a quarantine.
         * @enum {string}
         */
        QuarantineCause: "failures" | "policy" | "module" | "sustained_cost" | "memory" | "refused";
        /** @description Whether the service accepts transactions. */
        Readiness: {
            /** @description The checks and a short text for each; `ok` if there is nothing to report. */
            checks: {
                [key: string]: string;
            };
            /** @description Overall status. */
            status: components["schemas"]["ReadyStatus"];
        };
        /**
         * @description The overall status of a [`Readiness`].
         * @enum {string}
         */
        ReadyStatus: "ready" | "starting" | "stopping" | "unavailable";
        /**
         * @description One movement of money as a ledger reports it, or as stored, independent of its origin. A report without an id gets one that is
         *     derived from it.
         */
        RecordedTransaction: {
            /** @description Allow overdraft on the source balance; false if absent. */
            allow_overdraft?: boolean | null;
            amount: components["schemas"]["Amount"];
            /** @description The transaction should be atomic; false if absent. */
            atomic?: boolean | null;
            /**
             * Format: date-time
             * @description Time of the transaction, which all windows refer to. The time of arrival if absent.
             */
            created_at?: string | null;
            /** @description Currency code. */
            currency: components["schemas"]["Id"];
            /** @description Description for people; at most 4,096 bytes in UTF-8. */
            description?: string | null;
            destination?: components["schemas"]["ReportedIdentifier"] | null;
            /**
             * Format: date-time
             * @description Effective date.
             */
            effective_date?: string | null;
            hash?: components["schemas"]["OptionalId"] | null;
            /** @description Marks an inflight transaction; false if absent. */
            inflight?: boolean | null;
            /**
             * Format: date-time
             * @description Expiry time of an inflight transaction.
             */
            inflight_expiry_date?: string | null;
            /** @description Additional data of the caller; rules read it as `metadata`. */
            meta_data?: Record<string, unknown> | null;
            /** @description The caller's reference: any text of at most 350 characters. */
            reference: string;
            /**
             * Format: date-time
             * @description Scheduled execution time.
             */
            scheduled_for?: string | null;
            /** @description Skip the processing queue; false if absent. */
            skip_queue?: boolean | null;
            source?: components["schemas"]["ReportedIdentifier"] | null;
            status?: components["schemas"]["OptionalId"] | null;
            transaction_id?: components["schemas"]["ReportedIdentifier"] | null;
        };
        /** @description A version of a file that is not in force because of an error. */
        RefusedChange: {
            /** @description Column of the first error in characters, counted from 1. */
            column: number | null;
            /** @description Line of the first error, counted from 1; null if the error has no position. */
            line: number | null;
            /** @description Message for people. */
            message: string;
            /** @description Path of the file. */
            path: string;
        };
        /** @description A verdict that was derived again. */
        Replay: {
            /** @description Every member of the response that differs. */
            differences: components["schemas"]["ReplayDifference"][];
            /** @description The rules whose failure was taken over or whose run was inconclusive. */
            failures: components["schemas"]["ReplayFailure"][];
            /**
             * @description `equal`, `differs`, `taken_over` or `not_derived`. `taken_over`: equal if a recorded rule failure that cannot be
             *     reproduced is accepted. `not_derived`: undecided, because a rule run did not end conclusively.
             * @example equal
             */
            outcome: string;
            /**
             * Format: int64
             * @description Sequence number of the verdict in the order of acceptance.
             * @example 1042
             */
            sequence: number;
            /**
             * @description Id of the transaction.
             * @example t-1042
             */
            transaction_id: string;
        };
        /** @description A difference between the stored and the derived verdict. */
        ReplayDifference: {
            /**
             * @description Derived value.
             * @example "review"
             */
            derived: string;
            /**
             * @description Stored value; members of the response as JSON.
             * @example "approve"
             */
            stored: string;
            /**
             * @description The member of the response, or other item, that differs.
             * @example verdict
             */
            what: string;
        };
        /** @description An alert that is being delivered again. */
        Replayed: {
            /**
             * @description Unchanged id of the alert.
             * @example alert_0198f3d2c1d47a3e9b1f2a6c5d4e3f21
             */
            id: string;
            /**
             * @description Always `pending`.
             * @example pending
             */
            status: string;
        };
        /** @description A rule and its failure. */
        ReplayFailure: {
            /**
             * @description Kind of failure, as in `failures` of an assessment.
             * @example timeout
             */
            failure: string;
            /**
             * @description Name of the rule.
             * @example velocity
             */
            name: string;
        };
        /** @description Id of a transaction or an account with any characters that a ledger uses. */
        ReportedIdentifier: string;
        /** @description A named list as a save brought it into force. */
        SavedList: components["schemas"]["List"] & {
            /** @description How many more warnings there are. */
            n_more_warnings: number;
            /** @description Entries that may not be what was meant, the first 100. */
            warnings: components["schemas"]["ListWarning"][];
        };
        /** @description The reason why a save would be refused. */
        SaveRefusal: {
            /**
             * @description The error code that a save would answer.
             * @example name_taken
             */
            code: string;
            /** @description Message for people. */
            error: string;
        };
        /** @description The diagnostics of a script, and the answer that a save would give. */
        ScriptCheck: {
            /** @description Errors and warnings in the order of the script. */
            diagnostics: components["schemas"]["Diagnostic"][];
            refusal: components["schemas"]["SaveRefusal"] | null;
            rule: components["schemas"]["CompiledScript"] | null;
            /**
             * @description How many of the latest transactions it would have matched, such as `480 of 500`; null unless an estimate was asked
             *     for, its verdict is `review` or severer, and these are more than half of at least 100.
             * @example 480 of 500
             */
            would_have_matched: string | null;
        };
        /** @description A script to check. */
        ScriptToCheck: {
            /** @description Whether to estimate the cost of its questions about the history, which takes longer; `false` by default. */
            estimate?: boolean | null;
            /**
             * Format: int64
             * @description Id of the instruction whose script it would replace; a new one by default.
             */
            instruction_id?: number | null;
            /**
             * @description The rule script, at most 65,536 bytes.
             * @example rule Large { when amount > 10000 then review score 0.7 reason "Large amount" }
             */
            script: string;
        };
        /** @description Figures of the past in steps of the same length. */
        Stats: {
            /**
             * Format: date-time
             * @description Begin of the first step.
             */
            from: string;
            /** @description Times of injects. */
            latency: components["schemas"]["StatsLatency"];
            /** @description A series for each verdict, rule or kind of failure that occurred. */
            series: components["schemas"]["StatsSeries"][];
            /**
             * Format: int64
             * @description Length of a step in seconds.
             */
            step_seconds: number;
            /** @description Number of steps; each series has a value for each of them, the oldest first. */
            steps: number;
            /**
             * Format: date-time
             * @description End of the last step.
             */
            to: string;
        };
        /**
         * @description Quantiles of the time to the response of `POST /inject`, for each step in microseconds; null without requests. Each
         *     is at most a quarter above the true one.
         */
        StatsLatency: {
            /** @description Median. */
            p50_us: (number | null)[];
            /** @description 99th percentile. */
            p99_us: (number | null)[];
        };
        /** @description Counts of one verdict, rule or kind of failure. */
        StatsSeries: {
            /**
             * Format: int64
             * @description Id of the rule; null unless the series is of a rule. A rule that was removed has its id as its key.
             */
            instruction_id: number | null;
            /**
             * @description The verdict, the name of the rule or the kind of failure.
             * @example approve
             */
            key: string;
            /** @description A count for each step. */
            values: number[];
        };
        /** @description A change of the status of a transaction. */
        StatusUpdate: {
            /**
             * Format: date-time
             * @description Time at which it was accepted.
             */
            accepted_at: string;
            /**
             * @description Status after it.
             * @example applied
             */
            after: string;
            amount_after?: components["schemas"]["Amount"] | null;
            amount_before?: components["schemas"]["Amount"] | null;
            /**
             * @description Status before it; null if there was none.
             * @example pending
             */
            before: string | null;
            /**
             * @description Event of the ledger that reported it.
             * @example transaction.applied
             */
            event: string;
            /**
             * Format: int64
             * @description Number in the order of acceptance, which verdicts and status updates share.
             * @example 1043
             */
            sequence: number;
        };
        /** @description The changes of the status of a transaction. */
        StatusUpdates: {
            /** @description The latest 100 at most, oldest first. */
            status_updates: components["schemas"]["StatusUpdate"][];
        };
        /**
         * @description The verdict of a stored transaction. All members are present, or none if it was stored without a verdict and none was
         *     requested.
         */
        StoredEvaluation: {
            /**
             * Format: date-time
             * @description Time of the evaluation.
             */
            evaluated_at?: string | null;
            /** @description The rules that failed. */
            failures?: components["schemas"]["FailedRule"][] | null;
            /** @description Reasons of the rules that matched, most severe rule first, then a note for each failed rule. */
            reason?: string | null;
            /**
             * Format: int64
             * @description Version of the rule set that was applied.
             */
            rule_set_version?: number | null;
            /**
             * Format: double
             * @description The highest score of the rules that matched; 0 if none matched.
             */
            score?: number | null;
            /** @description The rules that matched, most severe first. */
            triggered?: components["schemas"]["Triggered"][] | null;
            verdict?: components["schemas"]["FinalVerdict"] | null;
        };
        /** @description A transaction as it was sent, with its current status and its verdict. */
        StoredTransaction: components["schemas"]["RecordedTransaction"] & components["schemas"]["StoredEvaluation"] & {
            latest_description?: components["schemas"]["RecordedTransaction"] | null;
            /** @description The fields that a ledger reported beyond the limits of a transaction, and that are missing here, such as `meta_data.note`. */
            left_out?: string[] | null;
            /**
             * @description Statuses that a ledger reported and that did not stand: one entry for each different word, at most 32, the first
             *     one first. Absent if there is none.
             */
            without_effect?: components["schemas"]["IneffectiveStatus"][] | null;
        };
        /** @description The service, what it takes of the machine, and its settings. */
        System: {
            /**
             * Format: int64
             * @description Open connections of clients.
             */
            connections: number;
            /** @description The disk of the data directory. */
            disk: components["schemas"]["SystemDisk"];
            /** @description The history. */
            history: components["schemas"]["SystemHistory"];
            /**
             * Format: int64
             * @description Transactions in flight.
             */
            in_flight: number;
            process: components["schemas"]["SystemProcess"] | null;
            /**
             * Format: int64
             * @description Version of the rule set in force.
             */
            rule_set_version: number;
            /** @description Rules in force. */
            rules: number;
            /** @description All settings, in the order of the documentation. */
            settings: components["schemas"]["SystemSetting"][];
            /**
             * Format: date-time
             * @description Time of the start.
             */
            started_at: string;
            /**
             * Format: int64
             * @description Seconds since then.
             */
            uptime_seconds: number;
            /**
             * @description Version of the program.
             * @example 0.1.0
             */
            version: string;
        };
        /** @description The disk of the data directory. */
        SystemDisk: {
            /**
             * Format: int64
             * @description Bytes by which they grow in a day, at the rate of the last hour.
             */
            bytes_per_day: number;
            /**
             * Format: int64
             * @description Bytes by which the store and these files grew for each stored transaction in the last hour; 0 until it is known.
             */
            bytes_per_transaction: number;
            /**
             * Format: int64
             * @description Free space; null where the system does not tell.
             */
            free_bytes: number | null;
            /**
             * Format: date-time
             * @description Time at which the disk is full at that rate; null if they do not grow.
             */
            full_at: string | null;
            /**
             * Format: int64
             * @description Size of the files of the history in the data directory.
             */
            history_bytes: number;
            /**
             * Format: int64
             * @description Size of the store.
             */
            store_bytes: number;
        };
        /** @description The history. */
        SystemHistory: {
            /** @description `SERVICE_MEMORY_LIMIT`, or the limit that the service chose. */
            limit_bytes: number;
            /**
             * Format: int64
             * @description Memory, as accounted.
             */
            resident_bytes: number;
            /**
             * Format: int64
             * @description Series.
             */
            series: number;
            /**
             * Format: int64
             * @description Size of the part in the spill file.
             */
            spilled_bytes: number;
            /**
             * Format: int64
             * @description Transactions that rules can ask about.
             */
            transactions: number;
        };
        /** @description Resources that the process takes. */
        SystemProcess: {
            /**
             * Format: double
             * @description CPU time, user and system.
             */
            cpu_seconds: number;
            /** @description Open files. */
            open_files: number;
            /**
             * Format: int64
             * @description Resident memory.
             */
            resident_bytes: number;
        };
        /** @description A setting. */
        SystemSetting: {
            /**
             * @description Name of the environment variable.
             * @example SERVICE_PORT
             */
            name: string;
            /**
             * @description `environment`, `file` (`.env`) or `default`.
             * @example default
             */
            origin: string;
            /**
             * @description Its value, or the default in words; null if it is a secret that is set.
             * @example 8081
             */
            value: string | null;
        };
        /**
         * @description One movement of money. Fields not listed here are stored and returned, but rules do not read them. The first
         *     instant of the year 1 (`0001-01-01T00:00:00Z`), which serialisers write for an unset time, counts as absent.
         * @example {
         *       "amount": 129.9,
         *       "currency": "EUR",
         *       "reference": "ref_1",
         *       "transaction_id": "txn_1"
         *     }
         */
        Transaction: {
            /** @description Allow overdraft on the source balance; false if absent. */
            allow_overdraft?: boolean | null;
            amount: components["schemas"]["Amount"];
            /** @description The transaction should be atomic; false if absent. */
            atomic?: boolean | null;
            /**
             * Format: date-time
             * @description Time of the transaction, which all windows refer to. The time of arrival if absent.
             */
            created_at?: string | null;
            /** @description Currency code. */
            currency: components["schemas"]["Id"];
            /** @description Description for people; at most 4,096 bytes in UTF-8. */
            description?: string | null;
            destination?: components["schemas"]["Identifier"] | null;
            /**
             * Format: date-time
             * @description Effective date.
             */
            effective_date?: string | null;
            hash?: components["schemas"]["OptionalId"] | null;
            /** @description Marks an inflight transaction; false if absent. */
            inflight?: boolean | null;
            /**
             * Format: date-time
             * @description Expiry time of an inflight transaction.
             */
            inflight_expiry_date?: string | null;
            /** @description Additional data of the caller; rules read it as `metadata`. */
            meta_data?: Record<string, unknown> | null;
            /** @description The caller's reference: any text of at most 350 characters. */
            reference: string;
            /**
             * Format: date-time
             * @description Scheduled execution time.
             */
            scheduled_for?: string | null;
            /** @description Skip the processing queue; false if absent. */
            skip_queue?: boolean | null;
            source?: components["schemas"]["Identifier"] | null;
            status?: components["schemas"]["OptionalId"] | null;
            transaction_id?: components["schemas"]["Identifier"] | null;
        };
        /** @description A rule that matched. */
        Triggered: {
            /**
             * Format: int64
             * @description Instruction of the rule.
             */
            instruction_id: number;
            /** @description Name of the rule. Only the severest 16 rules have one. */
            name?: string;
            /** @description Reason given by the rule. Only the severest 16 rules have one. */
            reason?: string;
            /**
             * Format: double
             * @description Score of the rule.
             */
            score: number;
            /** @description Verdict of the rule. */
            verdict: components["schemas"]["Verdict"];
        };
        /** @description The answer about a transaction that is stored without a verdict. */
        UnjudgedAnswer: {
            /**
             * @description Id of the transaction.
             * @example txn_1
             */
            transaction_id: string;
            verdict: components["schemas"]["FinalVerdict"] | null;
        };
        /**
         * @description The verdict of a rule, written after `then`: `allow` means `approve`, and `deny` means `block`.
         * @enum {string}
         */
        Verdict: "allow" | "approve" | "alert" | "review" | "deny" | "block";
        /** @description A judged transaction in short. */
        VerdictRow: {
            /**
             * Format: date-time
             * @description Time at which it was accepted.
             */
            accepted_at: string;
            amount: components["schemas"]["Amount"];
            /** @description Currency. */
            currency: string;
            /** @description Account that is paid. */
            destination: string | null;
            /** @description Reasons of the rules that matched. */
            reason: string | null;
            /** @description Names of the rules that matched, most severe first; of the first 16. */
            rules: string[];
            /**
             * Format: double
             * @description Highest score of the rules that matched.
             */
            score: number;
            /**
             * Format: int64
             * @description Number in the order of acceptance.
             */
            sequence: number;
            /** @description Account that pays. */
            source: string | null;
            /** @description Id of the transaction. */
            transaction_id: string;
            /** @description The verdict. */
            verdict: components["schemas"]["FinalVerdict"];
        };
        /**
         * Format: binary
         * @description A WebAssembly module, at most 65,536 bytes.
         */
        WasmModule: string;
        /** @description A message from a ledger. Members not listed here are ignored. */
        WebhookEnvelope: {
            /** @description The transaction. */
            data: components["schemas"]["RecordedTransaction"];
            /**
             * @description `transaction.` followed by a word.
             * @example transaction.applied
             */
            event: string;
        } | {
            /** @description Any value, or none. */
            data?: unknown;
            /**
             * @description Any other event name.
             * @example balance.created
             */
            event: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
