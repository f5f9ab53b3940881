package event

// Amount is a budget, or what is taken from one, in its six dimensions.
type Amount struct {
	// Steps counts starts of tools; Tokens those of prompts and replies.
	Steps  int64 `json:"steps,omitempty" cbor:"1,keyasint,omitempty"`
	Tokens int64 `json:"tokens,omitempty" cbor:"2,keyasint,omitempty"`
	// WallMS is wall time in milliseconds, MoneyMicros millionths of the price table's currency.
	WallMS      int64 `json:"wall_ms,omitempty" cbor:"3,keyasint,omitempty"`
	MoneyMicros int64 `json:"money_micros,omitempty" cbor:"4,keyasint,omitempty"`
	// Writes counts operations that change something outside; Risk is in the unit of the tools' manifests.
	Writes int64 `json:"writes,omitempty" cbor:"5,keyasint,omitempty"`
	Risk   int64 `json:"risk,omitempty" cbor:"6,keyasint,omitempty"`
}

// BudgetReserved sets aside what something can cost at most, before it begins. Its sequence number is the
// reserve's name.
type BudgetReserved struct {
	// For is model, step, verify, cleanup, answer or child. The step, where there is one, is the envelope's.
	For    string `json:"for" cbor:"1,keyasint,omitempty"`
	Amount Amount `json:"amount" cbor:"2,keyasint,omitempty"`
	// Child is the task that draws on it, for a child.
	Child string `json:"child,omitempty" cbor:"3,keyasint,omitempty"`
}

// BudgetSettled gives a reserve back, less what was spent. What was spent may be more than was reserved where
// only the outcome shows it (the tokens of a reply).
type BudgetSettled struct {
	// Of is the sequence number of the BudgetReserved.
	Of    uint64 `json:"of" cbor:"1,keyasint,omitempty"`
	Spent Amount `json:"spent" cbor:"2,keyasint,omitempty"`
	// Estimated tells that the spending is the host's estimate: nobody reported it.
	Estimated bool `json:"estimated,omitempty" cbor:"3,keyasint,omitempty"`
}

// BudgetExhausted says that something did not begin since the budget has no room for it.
type BudgetExhausted struct {
	// Dimensions are those without room, by their names in Amount.
	Dimensions []string `json:"dimensions" cbor:"1,keyasint"`
	For        string   `json:"for" cbor:"2,keyasint,omitempty"` // as in BudgetReserved
	Wanted     Amount   `json:"wanted" cbor:"3,keyasint,omitempty"`
	Left       Amount   `json:"left" cbor:"4,keyasint,omitempty"`
}

func (*BudgetReserved) Type() Type  { return TypeBudgetReserved }
func (*BudgetSettled) Type() Type   { return TypeBudgetSettled }
func (*BudgetExhausted) Type() Type { return TypeBudgetExhausted }
