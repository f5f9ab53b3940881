package event

// Version is the schema version of a record. The list is append-only; each entry says what changed and
// what an older binary does with it.
type Version int

const (
	// V1 is the first schema. A binary that knows less refuses it by number.
	V1 Version = 1
	// V2 pins the whole contract of a tool in TaskCreated, not only its name, schema and effect, and the key of the task; and
	// has tasks that undo what another did (TaskCreated.Compensates), with what came of each compensation.
	V2 Version = 2
	// Newest is the version that is written.
	Newest = V2
)

// ActorKind says who made an event true.
type ActorKind string

// The kinds of actor.
const (
	ActorUser   ActorKind = "user"
	ActorHost   ActorKind = "host"
	ActorModel  ActorKind = "model"
	ActorRecipe ActorKind = "recipe"
	ActorTool   ActorKind = "tool"
)

// Actor is who made an event true: a kind, and which one of it.
type Actor struct {
	Kind ActorKind `json:"kind"`
	ID   string    `json:"id,omitempty"`
}

// Event is one record of a task.
type Event struct {
	Version Version
	Task    string
	// Seq is contiguous within the task, from 1.
	Seq uint64
	// Time is when the host decided it, in microseconds since the Unix epoch. Nothing depends on it but
	// timers and reports.
	Time  int64
	Actor Actor
	// Cause is the sequence number of the event that this one answers; 0 for none.
	Cause uint64
	// Step is the number of the step, from 1, that the event belongs to; 0 for none.
	Step int64
	// Attempt counts the attempts of what the event belongs to, from 1; 0 where there are none.
	Attempt int64
	// Principal is whose rights and credentials the event is about; empty for the task's own.
	Principal string
	// Args is the digest of the canonical arguments that the event is about (core.ArgumentsDigest): 64 hexadecimal
	// digits, or empty.
	Args string
	// Evidence are the sequence numbers of the events that the event rests on.
	Evidence []uint64
	Payload  Payload
}

// Payload is what an event says. Each type of event has its own.
type Payload interface{ Type() Type }
