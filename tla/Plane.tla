--------------------------------- MODULE Plane ---------------------------------
(* The recovery plane at bounds: every run of at most so many crashes and specials, of commands that make sense.            *)
(* The relation is total, so this module decides what is sent, never what is legal. `retry` is `recover` under another      *)
(* name, and how a resume is addressed changes nothing here: both are left out.                                             *)
EXTENDS Reference

CONSTANTS
    Shapes,     \* the workloads, each a sequence of how many questions its tasks ask
    FaultSets,  \* the sets of switches to explore
    Crashes,    \* the most crashes in one run
    Specials,   \* the most specials in one run
    Deliveries, \* the most fresh tokens in one run: refused ones could go on for ever
    Marks       \* a run with more marks than these is sent nothing: a replay could add some with every recovery

(* What the configurations choose from. *)
Sequential ==
    {"Replay", "PrefixReplay", "ReexecLast", "SkipTask", "NondetRecovery", "RefuseRecovery", "LateRecord", "ParkLost",
     "AnswerLost", "ForkIgnore", "ForkLeak", "DoubleConsume", "StrayPoisons", "Misroute", "InvalidPersist",
     "TamperAccept", "InspectActs", "RestartMix"}
NoFaults == {{}}
SingleFaults == {{f} : f \in Sequential}
NoneOrOne == NoFaults \cup SingleFaults

OneQuestion == {<<0, 1, 0>>}     \* three tasks, the second asks one question: the paper's workload
DefaultBounds == {<<0, 2, 0>>}   \* three tasks, the second asks two questions
GateFirst == {<<1, 0>>}
TwoGates == {<<1, 1>>}

VARIABLES
    state,  \* where the run stands
    spent   \* crashes and specials used up, in order, and the number of tokens delivered

vars == <<asks, faults, state, spent>>

-------------------------------------------------------------------------------
(* Which commands make sense next. *)

Plain(op) == Command(op, NoToken, "latest", FALSE, 0, "")
Delivery(op, q, n) == Command(op, <<q[1], q[2], n>>, "latest", FALSE, 0, "")
Sent(op, q) == Delivery(op, q, spent.tokens + 1)
Repeated(q) ==
    LET known == {t[3] : t \in {t \in state.tokens : QuestionOf(t) = q}}
    IN  Delivery("redeliver", q, IF known = {} THEN 1 ELSE Greatest(known))

Special(c) ==
    IF c.poison # 0 THEN "poison"
    ELSE IF c.op = "recover2" THEN "twin"
    ELSE IF c.op = "resume" /\ QuestionOf(c.token) \in Addressed(state, c.branch).acked THEN "settled"
    ELSE IF c.op \in {"fork", "stray", "redeliver", "restart", "inspect", "reload", "tamper"} THEN c.op
    ELSE ""

Room == Len(spent.specials) < Specials

(* What a branch can be sent, without modifiers. *)
Basic(b) ==
    LET pending == Pending(b)
        crashed == b.status = "crashed"
        last == {q \in AllQuestions : \A r \in AllQuestions : ~Earlier(q, r)}
        first == {q \in AllQuestions : \A r \in AllQuestions : ~Earlier(r, q)}
    IN  IF b.status = "new" THEN {Plain("start"), Plain("inspect")} \cup {Sent("stray", q) : q \in first}
        ELSE {Plain("recover"), Plain("restart"), Plain("inspect"), Plain("reload")}
             \cup (IF crashed /\ b.done = {} /\ b.inflight = {} THEN {Plain("start")} ELSE {})
             \cup (IF b.status = "parked" THEN {Sent("resume", q) : q \in pending} ELSE {})
             \cup (IF crashed THEN {Sent("resume", q) : q \in b.inflight \cup (pending \cap b.asked)} ELSE {})
             \cup (IF crashed /\ b.done # {} THEN {Plain("recover2")} ELSE {})
             \cup {Repeated(q) : q \in b.acked \cup (IF crashed THEN b.inflight ELSE {})}
             \cup (IF pending # {} THEN {Sent("resume", q) : q \in b.acked} ELSE {})
             \cup (IF Complete(b) \/ crashed THEN {Sent("stray", q) : q \in {q \in last : q[1] \in b.done}} ELSE {})
             \cup (IF b.done # {} \/ b.asked # {} THEN {[Plain("tamper") EXCEPT !.kind = "truncated"]} ELSE {})

(* The tasks that a command runs before the run parks again. *)
Ahead(b, q) ==
    LET stops(t) == t \notin b.done /\ \E r \in Questions(t) : r \notin b.acked /\ r # q
    IN  {t \in Tasks \ b.done : \A u \in 1..t : ~stops(u)}

Modified(c, b) ==
    LET runs == c.op \in {"start", "resume", "fork", "recover", "restart"} /\ Special(c) # "settled"
    IN  {c}
        \cup (IF runs /\ spent.crashes < Crashes THEN {[c EXCEPT !.crash = TRUE]} ELSE {})
        \cup (IF runs /\ Room /\ Special(c) = ""
              THEN {[c EXCEPT !.poison = t] : t \in Ahead(b, QuestionOf(c.token))} ELSE {})

Menu ==
    LET onTrunk == {[c EXCEPT !.branch = "trunk"] : c \in {c \in Basic(state.trunk) :
                       c.op \notin {"start", "restart", "fork", "tamper", "reload"}}}
        plain == Basic(Addressed(state, "latest"))
                 \cup (IF state.fork # NoBranch THEN onTrunk ELSE {})
                 \cup {Sent("fork", q) : q \in state.trunk.asked}
        marks == {Len(state.trunk.marks), Len(state.fork.marks)}
    IN  IF state.over \/ \E n \in marks : n > Marks THEN {}
        ELSE IF state.tampered # "" THEN {Plain("recover")}
        ELSE UNION {Modified(c, Addressed(state, c.branch)) :
                       c \in {c \in plain : (Special(c) = "" \/ Room) /\ c.token[3] <= Deliveries}}

Spend(c) ==
    [crashes |-> spent.crashes + (IF c.crash THEN 1 ELSE 0),
     specials |-> IF Special(c) = "" THEN spent.specials ELSE Append(spent.specials, Special(c)),
     tokens |-> spent.tokens + (IF c.token # NoToken /\ c.op # "redeliver" THEN 1 ELSE 0)]

-------------------------------------------------------------------------------

Init ==
    /\ asks \in Shapes
    /\ faults \in FaultSets
    /\ state = Unstarted
    /\ spent = [crashes |-> 0, specials |-> <<>>, tokens |-> 0]

Send(c, transition) ==
    /\ state' = transition.state
    /\ spent' = Spend(c)
    /\ UNCHANGED <<asks, faults>>

Next == \E c \in Menu : \E transition \in Admitted(state, c) : Send(c, transition)

Spec == Init /\ [][Next]_vars
===============================================================================
