package abi

// Limits of ABI 1. Each says why it is what it is. A manifest may ask for other values of those it can
// name (Limits); the operator's configuration decides.
const (
	// MaxModuleBytes is how much of a plugin file is read: a stock Go guest is 2 to 4 MiB, so this leaves
	// room for guests that embed data without letting one file fill the host's memory.
	MaxModuleBytes = 32 << 20
	// MaxManifestBytes bounds the manifest section. Sixty tools with their schemas fit.
	MaxManifestBytes = 64 << 10
	// MaxErrorBytes bounds what error_set keeps: a message and a short trace.
	MaxErrorBytes = 8 << 10
	// MaxLogBytes bounds one log line; the rest of a longer one is dropped, marked.
	MaxLogBytes = 4 << 10
	// MaxLogLines bounds the log lines of one call, so that a guest cannot flood the host's log.
	MaxLogLines = 100
	// MaxInputBytes bounds the input of one call: the largest context of today's models is about 8 MB of text.
	MaxInputBytes = 16 << 20
	// DefaultOutputBytes bounds the output of one call: what a model can usefully read back.
	DefaultOutputBytes = 1 << 20
	// MaxOutputBytes is the most that a manifest may ask for.
	MaxOutputBytes = 16 << 20
	// MaxEmitBytes bounds one chunk of output_emit: a line for people, or a few seconds of streamed text.
	MaxEmitBytes = 16 << 10
	// MaxEmits bounds the chunks of one call, so that empty ones cannot flood the host. Their bytes are bounded
	// together by the call's output limit.
	MaxEmits = 10_000
	// MaxOperationName bounds an operation's name, which the host copies before it knows it.
	MaxOperationName = 128
	// MaxRequestBytes bounds one request of host_call.
	MaxRequestBytes = 1 << 20
	// MaxResponseBytes bounds one response. The guest pulls it piece by piece if it has not the room.
	MaxResponseBytes = 16 << 20
	// MaxURLBytes bounds the URL of http.fetch/1: what servers take.
	MaxURLBytes = 8 << 10
	// MaxFetchHeaders bounds how many headers a request has.
	MaxFetchHeaders = 64
	// MaxFetchHeaderBytes bounds names and values of the headers of a request, and of a response, together.
	MaxFetchHeaderBytes = 64 << 10
	// MaxFetchBodyBytes bounds the body of a response: in base64 it still fits MaxResponseBytes.
	MaxFetchBodyBytes = 8 << 20
	// MaxNesting bounds how deep the JSON of an output and of a manifest is nested: decoders have limits of
	// their own, and what is stored inside something else must still be readable.
	MaxNesting = 200
	// MaxValues bounds the values of an output that is JSON: it is decoded after the guest has answered, by no deadline,
	// and 16 MiB of short words took 2 s and 350 MB.
	MaxValues = 100_000
	// MaxKeywords bounds the keywords of one answer: the host looks for each of them in the whole reply.
	MaxKeywords = 1_000
	// MaxPlanItems bounds a plan: each of its items is an entry of the log, and a person reads it.
	MaxPlanItems = 1_000
	// MaxHandles is how many responses may be open at once; all are closed when the call ends.
	MaxHandles = 16
	// DefaultMemoryBytes bounds a guest's linear memory: a stock Go guest starts at 3.3 MiB and lives in 8.
	DefaultMemoryBytes = 64 << 20
	// MaxMemoryBytes is the most that a manifest may ask for.
	MaxMemoryBytes = 1 << 30
	// DefaultHookMillis bounds one hook call. A hook is pure computation over one reply: milliseconds.
	DefaultHookMillis = 2_000
	// DefaultToolMillis bounds one tool call, unless the tool's manifest entry gives timeout_ms.
	DefaultToolMillis = 120_000
	// MaxToolMillis is the most that a tool may ask for.
	MaxToolMillis = 3_600_000
	// MaxNameBytes bounds the name of a plugin and of a tool (64 is the model protocol's own limit).
	MaxNameBytes = 64
	// MaxResources bounds the resource templates of a tool, and the resources that a preview names: a step waits
	// for each of them.
	MaxResources = 16
	// MaxResourceBytes bounds a resource's template and its name: a path, or an address.
	MaxResourceBytes = 1024
	// MaxRisk is the riskiest that a tool can say it is: a scale that the operator's budget is counted on.
	MaxRisk = 1000
	// MaxCost bounds each part of a tool's cost, so that sums of them cannot overflow.
	MaxCost = 1_000_000_000_000
	// PageBytes is the size of a page of linear memory.
	PageBytes = 64 << 10
)
