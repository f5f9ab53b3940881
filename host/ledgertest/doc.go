// Package ledgertest is a service outside the host that proves that effects happen once: a small HTTP server which
// keeps a ledger, counts each effect that it had, and can lose, delay and garble what it is asked and what it
// answers, exactly where a test wants it. It runs inside a test ([New]) or as a process of its own ([Serve]), and keeps
// its effects in a file if it is given one, so that they can be counted from elsewhere ([ReadFile]) whoever was killed.
//
//	POST   /entries         Idempotency-Key: K, {"account", "amount", "text"}
//	                        201 and the entry; K again 200 and the same entry; K with another body 409
//	GET    /entries?key=K   200 and the entry that K made, or 404: the question that settles an unknown outcome
//	                        of Idempotency-Attempt: N (0 when absent) 410 where attempts up to N are shut out
//	                        with If-Match: V 412 where the account is not at version V, with Lease-Fence: F where an
//	                        entry was made under a later lease of it
//	PUT    /fences/K        {"attempts": N}: no attempt up to N makes an entry any more; 201, or 200 and the entry that K
//	                        made before: the answer that makes an unknown outcome known
//	GET    /accounts/A      {"account", "balance", "version"}, and the version as ETag
//	GET    /entries         all entries, the oldest first
//	DELETE /entries/ID      Idempotency-Key: K; 200 and the entry, void; again the same answer
//	GET    /stats           Stats
//	POST   /faults          {"seed", "faults": [Fault]}: replaces the faults
//
// In raw mode (Options.Raw, or ?mode=raw in one request) the service is one of those that know no keys: each POST
// and each DELETE that arrives is another effect, and those that share a key are counted as duplicates. That is how
// a blind retry is caught. Fences hold there too: a request that was under way when its attempt was shut out has no
// effect, whenever it arrives.
//
// Invariants: an effect is in the ledger, and in the file, before OnEffect is called and before any byte of the answer
// is written. Faults are drawn in the order in which requests arrive, from a seed, so a run can be repeated. A fault
// never invents or loses an effect that happened; it only changes who learns of it.
//
// It is not for production: no authentication, no TLS, all in memory. It imports only the standard library, and not
// testing; tests, demonstrations and benchmarks import it.
package ledgertest
