package event

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

	TypePlanProposed    Type = "PlanProposed"
	TypeReplanRequested Type = "ReplanRequested"
	TypePolicyDecided   Type = "PolicyDecided"
	TypePluginRejected  Type = "PluginRejected"

	TypePermissionMissing Type = "PermissionMissing"
	TypePermissionGranted Type = "PermissionGranted"
	TypeApprovalRequested Type = "ApprovalRequested"
	TypeApprovalGranted   Type = "ApprovalGranted"
	TypeApprovalEdited    Type = "ApprovalEdited"
	TypeArgumentsValid    Type = "ArgumentsValid"
	TypeArgumentsInvalid  Type = "ArgumentsInvalid"
	TypeApprovalRejected  Type = "ApprovalRejected"
	TypeApprovalExpired   Type = "ApprovalExpired"

	TypeLeaseAcquired         Type = "LeaseAcquired"
	TypeLeaseReleased         Type = "LeaseReleased"
	TypeToolProgress          Type = "ToolProgress"
	TypeHostOperation         Type = "HostOperation"
	TypeToolUnknown           Type = "ToolUnknown"
	TypeReconcileStarted      Type = "ReconcileStarted"
	TypeOperationFound        Type = "OperationFound"
	TypeOperationAbsent       Type = "OperationAbsent"
	TypeReconcileInconclusive Type = "ReconcileInconclusive"
	TypeCompensationStarted   Type = "CompensationStarted"
	TypeCompensationSucceeded Type = "CompensationSucceeded"
	TypeCompensationFailed    Type = "CompensationFailed"

	TypeBudgetReserved  Type = "BudgetReserved"
	TypeBudgetSettled   Type = "BudgetSettled"
	TypeBudgetExhausted Type = "BudgetExhausted"

	TypeCancelRequested    Type = "CancelRequested"
	TypeStepCancelled      Type = "StepCancelled"
	TypeCancelAcknowledged Type = "CancelAcknowledged"
	TypeTaskBlocked        Type = "TaskBlocked"
	TypeTaskCancelled      Type = "TaskCancelled"
)

// types numbers the types: a record holds the number, so the list is append-only, and a type that is no longer
// written keeps its place.
var types = [...]struct {
	name Type
	make func() Payload
}{
	1:  {TypeTaskCreated, fresh[TaskCreated]},
	2:  {TypeClaimed, fresh[Claimed]},
	3:  {TypeRecipeConsulted, fresh[RecipeConsulted]},
	4:  {TypeMessageAppended, fresh[MessageAppended]},
	5:  {TypeRollbackMarked, fresh[RollbackMarked]},
	6:  {TypeMarkerAppended, fresh[MarkerAppended]},
	7:  {TypePromptObserved, fresh[PromptObserved]},
	8:  {TypeConversationReset, fresh[ConversationReset]},
	9:  {TypeFinalizationForced, fresh[FinalizationForced]},
	10: {TypeDecided, fresh[Decided]},
	11: {TypeModelRequested, fresh[ModelRequested]},
	12: {TypeModelReplied, fresh[ModelReplied]},
	13: {TypeModelFailed, fresh[ModelFailed]},
	14: {TypeToolRequested, fresh[ToolRequested]},
	15: {TypeToolAuthorized, fresh[ToolAuthorized]},
	16: {TypeStepDenied, fresh[StepDenied]},
	17: {TypeToolStarted, fresh[ToolStarted]},
	18: {TypeToolSucceeded, fresh[ToolSucceeded]},
	19: {TypeToolFailed, fresh[ToolFailed]},
	20: {TypeRetryScheduled, fresh[RetryScheduled]},
	21: {TypeObservationRecorded, fresh[ObservationRecorded]},
	22: {TypeGoalVerified, fresh[GoalVerified]},
	23: {TypeGoalRejected, fresh[GoalRejected]},
	24: {TypeTaskSucceeded, fresh[TaskSucceeded]},
	25: {TypeTaskPartial, fresh[TaskPartial]},
	26: {TypeTaskFailed, fresh[TaskFailed]},
	27: {TypePlanProposed, fresh[PlanProposed]},
	28: {TypeReplanRequested, fresh[ReplanRequested]},
	29: {TypePolicyDecided, fresh[PolicyDecided]},
	30: {TypePluginRejected, fresh[PluginRejected]},
	31: {TypePermissionMissing, fresh[PermissionMissing]},
	32: {TypePermissionGranted, fresh[PermissionGranted]},
	33: {TypeApprovalRequested, fresh[ApprovalRequested]},
	34: {TypeApprovalGranted, fresh[ApprovalGranted]},
	35: {TypeApprovalEdited, fresh[ApprovalEdited]},
	36: {TypeArgumentsValid, fresh[ArgumentsValid]},
	37: {TypeArgumentsInvalid, fresh[ArgumentsInvalid]},
	38: {TypeApprovalRejected, fresh[ApprovalRejected]},
	39: {TypeApprovalExpired, fresh[ApprovalExpired]},
	40: {TypeLeaseAcquired, fresh[LeaseAcquired]},
	41: {TypeLeaseReleased, fresh[LeaseReleased]},
	42: {TypeToolProgress, fresh[ToolProgress]},
	43: {TypeHostOperation, fresh[HostOperation]},
	44: {TypeToolUnknown, fresh[ToolUnknown]},
	45: {TypeReconcileStarted, fresh[ReconcileStarted]},
	46: {TypeOperationFound, fresh[OperationFound]},
	47: {TypeOperationAbsent, fresh[OperationAbsent]},
	48: {TypeReconcileInconclusive, fresh[ReconcileInconclusive]},
	49: {TypeCompensationStarted, fresh[CompensationStarted]},
	50: {TypeCompensationSucceeded, fresh[CompensationSucceeded]},
	51: {TypeCompensationFailed, fresh[CompensationFailed]},
	52: {TypeBudgetReserved, fresh[BudgetReserved]},
	53: {TypeBudgetSettled, fresh[BudgetSettled]},
	54: {TypeBudgetExhausted, fresh[BudgetExhausted]},
	55: {TypeCancelRequested, fresh[CancelRequested]},
	56: {TypeStepCancelled, fresh[StepCancelled]},
	57: {TypeCancelAcknowledged, fresh[CancelAcknowledged]},
	58: {TypeTaskBlocked, fresh[TaskBlocked]},
	59: {TypeTaskCancelled, fresh[TaskCancelled]},
}

func fresh[T any, P interface {
	*T
	Payload
}]() Payload {
	return P(new(T))
}

// Types lists every type, by its number.
func Types() []Type {
	var out []Type
	for _, t := range types[1:] {
		out = append(out, t.name)
	}
	return out
}

// New gives an empty payload of a type; nil when there is no such type.
func New(t Type) Payload {
	if n := numbers[t]; n > 0 {
		return types[n].make()
	}
	return nil
}

// numbers is types the other way round.
var numbers = func() map[Type]uint64 {
	m := make(map[Type]uint64, len(types))
	for i, t := range types[1:] {
		m[t.name] = uint64(i) + 1
	}
	return m
}()
