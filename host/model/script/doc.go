// Package script is a model endpoint that answers from a file: for demonstrations, for trying a recipe without
// a model, and for tests. It speaks the real protocol over a real socket on the loopback address, so that
// nothing of the client is bypassed.
//
// A script is YAML:
//
//	replies:
//	  - content: Let me look.          # text of the reply
//	    reasoning: The user wants…     # sent as reasoning_content
//	    tool_calls:
//	      - name: lookup
//	        arguments: {key: blue}     # an object, or text that is sent as it is
//	        id: call_1                 # call_<reply>_<position> where absent
//	    finish_reason: tool_calls      # by shape where absent
//	    usage: {prompt_tokens: 10, completion_tokens: 5}   # not reported where absent
//	    delay_ms: 100                  # waits before it answers; a cancelled request ends the wait
//	    expect:                        # checked before the reply is given
//	      last_role: user              # role of the request's last message
//	      contains: blue               # text, or list of texts, in that message
//	      tools: [lookup]              # names of all tools that the request offers, in any order
//	  - http_status: 429               # an error; content is its message
//	    retry_after: "2"               # the header, as it is
//
// Which reply a request gets is said by its header X-Axishost-Ordinal (reply 1 is the first); requests without
// the header are counted. So the same request gets the same reply after a restart.
//
// An unmet expectation and a request beyond the last reply are answered with status 422 and kept for
// Server.Failure. Unknown keys, anchors, aliases and a second document are errors with file and line.
//
// The command line and tests import it; it imports nothing of this project.
package script
