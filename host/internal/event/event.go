package event

// Version is the schema version of a record. The list is append-only; each entry says what changed and
// what an older binary does with it.
type Version int

const (
	// V1 is the first schema. A binary that knows less refuses it by number.
	V1 Version = 1
	// Newest is the version that is written.
	Newest = V1
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
	Payload Payload
}

// Payload is what an event says. Each type of event has its own.
type Payload interface{ Type() Type }

// Type names a type of event.
type Type string

// The types of event.
const (
	TypeTaskCreated         Type = "TaskCreated"
	TypeClaimed             Type = "Claimed"
	TypeRecipeConsulted     Type = "RecipeConsulted"
	TypeMessageAppended     Type = "MessageAppended"
	TypeRollbackMarked      Type = "RollbackMarked"
	TypeMarkerAppended      Type = "MarkerAppended"
	TypePromptObserved      Type = "PromptObserved"
	TypeConversationReset   Type = "ConversationReset"
	TypeFinalizationForced  Type = "FinalizationForced"
	TypeDecided             Type = "Decided"
	TypeModelRequested      Type = "ModelRequested"
	TypeModelReplied        Type = "ModelReplied"
	TypeModelFailed         Type = "ModelFailed"
	TypeToolRequested       Type = "ToolRequested"
	TypeToolAuthorized      Type = "ToolAuthorized"
	TypeStepDenied          Type = "StepDenied"
	TypeToolStarted         Type = "ToolStarted"
	TypeToolSucceeded       Type = "ToolSucceeded"
	TypeToolFailed          Type = "ToolFailed"
	TypeRetryScheduled      Type = "RetryScheduled"
	TypeObservationRecorded Type = "ObservationRecorded"
	TypeGoalVerified        Type = "GoalVerified"
	TypeGoalRejected        Type = "GoalRejected"
	TypeTaskSucceeded       Type = "TaskSucceeded"
	TypeTaskPartial         Type = "TaskPartial"
	TypeTaskFailed          Type = "TaskFailed"
)

// fresh gives an empty payload of each type, for decoding.
func fresh(t Type) Payload {
	switch t {
	case TypeTaskCreated:
		return &TaskCreated{}
	case TypeClaimed:
		return &Claimed{}
	case TypeRecipeConsulted:
		return &RecipeConsulted{}
	case TypeMessageAppended:
		return &MessageAppended{}
	case TypeRollbackMarked:
		return &RollbackMarked{}
	case TypeMarkerAppended:
		return &MarkerAppended{}
	case TypePromptObserved:
		return &PromptObserved{}
	case TypeConversationReset:
		return &ConversationReset{}
	case TypeFinalizationForced:
		return &FinalizationForced{}
	case TypeDecided:
		return &Decided{}
	case TypeModelRequested:
		return &ModelRequested{}
	case TypeModelReplied:
		return &ModelReplied{}
	case TypeModelFailed:
		return &ModelFailed{}
	case TypeToolRequested:
		return &ToolRequested{}
	case TypeToolAuthorized:
		return &ToolAuthorized{}
	case TypeStepDenied:
		return &StepDenied{}
	case TypeToolStarted:
		return &ToolStarted{}
	case TypeToolSucceeded:
		return &ToolSucceeded{}
	case TypeToolFailed:
		return &ToolFailed{}
	case TypeRetryScheduled:
		return &RetryScheduled{}
	case TypeObservationRecorded:
		return &ObservationRecorded{}
	case TypeGoalVerified:
		return &GoalVerified{}
	case TypeGoalRejected:
		return &GoalRejected{}
	case TypeTaskSucceeded:
		return &TaskSucceeded{}
	case TypeTaskPartial:
		return &TaskPartial{}
	case TypeTaskFailed:
		return &TaskFailed{}
	}
	return nil
}
