// Bodies of POST /inject as encoding/json writes them; the lines are those of bodies.py.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Transaction has no `omitempty`: what is not set is written as the zero of its type.
type Transaction struct {
	TransactionID      string          `json:"transaction_id"`
	Amount             json.Number     `json:"amount"`
	Currency           string          `json:"currency"`
	Source             string          `json:"source"`
	Destination        string          `json:"destination"`
	Reference          string          `json:"reference"`
	Description        string          `json:"description"`
	Status             string          `json:"status"`
	Hash               string          `json:"hash"`
	AllowOverdraft     bool            `json:"allow_overdraft"`
	Inflight           bool            `json:"inflight"`
	SkipQueue          bool            `json:"skip_queue"`
	Atomic             bool            `json:"atomic"`
	CreatedAt          time.Time       `json:"created_at"`
	EffectiveDate      *time.Time      `json:"effective_date"`
	ScheduledFor       time.Time       `json:"scheduled_for"`
	InflightExpiryDate time.Time       `json:"inflight_expiry_date"`
	MetaData           map[string]any  `json:"meta_data"`
	Extra              json.RawMessage `json:"extra"`
}

// Untagged is written under the names of its fields.
type Untagged struct {
	TransactionID string
	Amount        float64
	Currency      string
	Reference     string
}

var n int

func emit(expected, field string, body []byte) {
	fmt.Printf("%s\t%s\t%s\n", expected, field, hex.EncodeToString(body))
}

func transaction() Transaction {
	n++
	return Transaction{TransactionID: fmt.Sprintf("go-%d", n), Amount: "12.50", Currency: "EUR", Reference: fmt.Sprintf("r-%d", n)}
}

func write(expected, field string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	emit(expected, field, body)
}

func with(expected, field string, change func(*Transaction)) {
	value := transaction()
	change(&value)
	write(expected, field, value)
}

func fields(expected, field string, name string, value any) {
	n++
	write(expected, field, map[string]any{
		"transaction_id": fmt.Sprintf("go-%d", n), "amount": 12.5, "currency": "EUR", "reference": "r", name: value,
	})
}

func nested(depth int) any {
	if depth == 0 {
		return 1
	}
	return map[string]any{"a": nested(depth - 1)}
}

func columns(number int) map[string]any {
	all := map[string]any{}
	for i := range number {
		all[fmt.Sprintf("column_%d", i)] = i
	}
	return all
}

func main() {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	east := noon.In(time.FixedZone("east", 19800))
	with("taken", "-", func(*Transaction) {})
	with("taken", "-", func(t *Transaction) { t.TransactionID = "" })
	with("taken", "-", func(t *Transaction) { t.CreatedAt, t.EffectiveDate = noon, &east })
	with("taken", "-", func(t *Transaction) { t.CreatedAt = time.Time{}.In(time.FixedZone("west", -8*3600)) })
	with("taken", "-", func(t *Transaction) { t.CreatedAt = time.Time{}.In(time.FixedZone("mean", 3208)) })
	with("taken", "-", func(t *Transaction) { t.Description, t.Reference = "line\r\n<&>\u2028", "\u05d0\u200f\n" })
	with("taken", "-", func(t *Transaction) { t.MetaData = map[string]any{"bytes": []byte{1, 2}, "empty": nil, "deep": nested(20)} })
	with("taken", "-", func(t *Transaction) { t.MetaData = columns(431) })
	with("taken", "-", func(t *Transaction) { t.Source = "acc \xff" })
	with("refused", "meta_data", func(t *Transaction) { t.MetaData = columns(1100) })
	with("refused", "meta_data", func(t *Transaction) { t.MetaData = map[string]any{"deep": nested(40)} })
	with("refused", "currency", func(t *Transaction) { t.Currency = "" })
	with("refused", "reference", func(t *Transaction) { t.Reference = "" })
	with("refused", "created_at", func(t *Transaction) { t.CreatedAt = time.Unix(-1, 0).UTC() })
	for _, amount := range []json.Number{"0", "-0.00", "1E+3", "1e-7", "9223372036854775807", "12345678901234567890.123456789"} {
		with("taken", "-", func(t *Transaction) { t.Amount = amount })
	}
	for _, amount := range []json.Number{"1e400", "1234567890123456789012345678901234567890"} {
		with("refused", "amount", func(t *Transaction) { t.Amount = amount })
	}
	for _, text := range []string{"acc-1 ", " acc-1", "acc-1\n", "acc\u200b-1", "\ufeffacc-1", "acc-1\u00ad"} {
		with("refused", "transaction_id", func(t *Transaction) { t.TransactionID = text })
		with("refused", "source", func(t *Transaction) { t.Source = text })
		with("refused", "destination", func(t *Transaction) { t.Destination = text })
	}
	for _, field := range []string{"created_at", "effective_date", "scheduled_for", "inflight_expiry_date"} {
		fields("taken", "-", field, time.Time{})
		fields("taken", "-", field, nil)
		fields("taken", "-", field, noon)
		fields("refused", field, field, noon.Unix())
		fields("refused", field, field, noon.String())
		fields("refused", field, field, noon.Format(time.RFC1123))
		fields("refused", field, field, noon.Format(time.DateOnly))
		fields("refused", field, field, "0001-01-01")
	}
	for _, field := range []string{"source", "destination", "status", "hash"} {
		fields("taken", "-", field, "")
		fields("refused", field, field, 7)
		fields("refused", field, field, []string{"x"})
	}
	for _, field := range []string{"transactionId", "TransactionID", "CreatedAt", "metaData", "MetaData", "Source"} {
		fields("refused", field, field, "x")
	}
	write("refused", "amount", Untagged{"x", 1, "EUR", "r"})
	plain, _ := json.Marshal(transaction())
	emit("refused", "-", append([]byte("\xef\xbb\xbf"), plain...))
	write("refused", "-", []Transaction{transaction()})
	write("refused", "-", string(plain))
	pretty, _ := json.MarshalIndent(transaction(), "", "\t")
	emit("taken", "-", []byte(strings.ReplaceAll(string(pretty), "\n", "\r\n")))
}
