------------------------------ MODULE Properties ------------------------------
(* The contract's properties, stated without its reference: an observer of the plane writes down what each command showed *)
(* in a ledger, and judges the next command by that alone. Where the reference says what may be shown, this module says   *)
(* what is wrong with what was shown. Under no faults nothing is wrong, whatever legal choice the target makes: the       *)
(* reference keeps the contract. Under one fault at a time, what falls is the matrix of mechanisms and properties.        *)
(*                                                                                                                        *)
(* Of the transition the observer reads `expect` and, because both are the target's policy, which branch a command meant  *)
(* and which meaning of a restart was chosen (`note`). It never looks into a branch. In doubt it is lenient: as a store   *)
(* may hide its last record, or reply to a delivery that it did not take as to one that it took, several states of the    *)
(* plane are the same to it.                                                                                              *)
(*                                                                                                                        *)
(* A run ends with the first thing that is wrong, since only the shallowest fall of each property is of interest. What a  *)
(* mechanism breaks later, and would have broken without what it broke first, is found on another run.                    *)
(*                                                                                                                        *)
(* Left out: FI, which is about the API and not about runs; the part of PC that compares the input of each effect, and of *)
(* CO-c that reads from a reply whether its token was taken, because the plane shows neither; a second process (`race`);  *)
(* what the second of two recoveries does wrong apart from differing, because it runs on a copy.                          *)
EXTENDS Plane, TLC

VARIABLES
    ledger,  \* a page for the trunk and one for the fork, and whether the store was damaged
    broken   \* the properties that the last command broke

(* What was seen of one branch in one epoch.                                                                              *)
Blank ==
    [status |-> "new",    \* how the branch stands: "crashed" also after a schema refusal
     frontier |-> {},     \* the frontier last seen
     fired |-> {},        \* tasks whose effect fired; for a fork, those before it as well
     poisoned |-> {},     \* tasks whose update broke the schema
     given |-> {},        \* pairs <<question, token>>: the answers that can be in force
     acked |-> {},        \* acknowledged questions
     pending |-> {},      \* the question asked
     base |-> {0},        \* how many marks of older epochs the run's state can begin with
     own |-> NoToken]     \* the token that opened the fork

Unwritten == [trunk |-> Blank, fork |-> Blank, damaged |-> FALSE]

-------------------------------------------------------------------------------
(* Reading what a command showed. *)

FiredIn(e) == {e.effects[i][1] : i \in DOMAIN e.effects}
FiredTwice(e) == {t \in FiredIn(e) : \E i, j \in DOMAIN e.effects : i < j /\ e.effects[i][1] = t /\ e.effects[j][1] = t}
AskedBy(e) == UNION {{questions[i] : i \in DOMAIN questions} : questions \in e.pending}
EnteredAgain(e) == UNION e.reentered
FrontierNow(page, e) == IF e.frontier = {} THEN page.frontier ELSE UNION e.frontier
Struck(c, e) == c.poison \in FiredIn(e)

(* Answers that marks or effects show in use. *)
InUse(marks) == UNION {{<<<<m[1], i>>, m[2][i]>> : i \in DOMAIN m[2]} : m \in {marks[j] : j \in DOMAIN marks}}

Moved(page, e) == e.effects # <<>> \/ EnteredAgain(e) # {} \/ FrontierNow(page, e) # page.frontier

Named(fallen) == {property \in DOMAIN fallen : fallen[property]}
Only(property, condition) == IF condition THEN {property} ELSE {}

-------------------------------------------------------------------------------
(* What is wrong with a branch that went on. `other` is the page of the other branch. *)

(* An answer that belongs to the other branch: given to it, or older than the fork which uses it. *)
Leaked(page, other, use) ==
    /\ QuestionOf(use[2]) = use[1]
    /\ use \in other.given \/ use[2] = other.own \/ use[2][3] < page.own[3]

Misused(page, other, uses) == {IF Leaked(page, other, use) THEN "FD" ELSE "CO" : use \in uses \ page.given}

(* The final state counts each task once, after what it had from older epochs. How much that was can be open: then only   *)
(* what is wrong in every case is wrong, and where the cases have nothing in common the restart mixed its meanings.       *)
Miscounted(page, other, known, marks) ==
    LET since(n) == SubSeq(marks, n + 1, Len(marks))
        wrong(n) ==
            Named("EO" :> (\E i, j \in DOMAIN since(n) : i < j /\ since(n)[i][1] = since(n)[j][1])
                  @@ "PC" :> (\E t \in known : \A i \in DOMAIN since(n) : since(n)[i][1] # t))
            \cup Misused(page, other, InUse(since(n)))
        always == {p \in wrong(Least(page.base)) : \A n \in page.base : p \in wrong(n)}
    IN  IF \E n \in page.base : wrong(n) = {} THEN {} ELSE IF always = {} THEN {"RS"} ELSE always

(* `again` is EO-a, and CO-e at a gate; more than one of `fired \ now` is EO-c; the one task in doubt is in neither. A    *)
(* frontier that shrinks is a prefix that is not continued. What comes from the other branch is FD and nothing else.      *)
Wrong(page, other, c, e) ==
    LET fired == FiredIn(e)
        known == page.frontier \cup page.fired \cup page.poisoned \cup fired
        now == FrontierNow(page, e)
        asked == AskedBy(e)
        again == (fired \cap page.frontier) \cup FiredTwice(e)
        passed == {t \in Tasks \ known : t \in now \/ (\E u \in fired : t < u) \/ (\E q \in asked : t < q[1])}
        invalid == (page.poisoned \ (page.fired \cup fired)) \cup ({c.poison} \cap fired)
        unanswered == UNION {{<<q[1], i>> : i \in 1..(q[2] - 1)} : q \in asked} \ Answered(page.given)
        seen ==
            Named("PC" :> (EnteredAgain(e) # {} \/ passed # {} \/ page.frontier \ now # {})
                  @@ "EO" :> (again # {} \/ (e.kind = "crashed" /\ e.frontier # {} /\ Cardinality(fired \ now) > 1))
                  @@ "CV" :> (invalid \cap now # {} \/ (Struck(c, e) /\ e.kind \notin {"refused", "crashed"}))
                  @@ "CO" :> (\/ \E t \in again : asks[t] > 0
                              \/ \E q \in asked : q \in page.acked \/ q[1] \in now
                              \/ unanswered # {})
                  @@ "LV" :> (e.kind = "completed" /\ ~(Tasks \subseteq known)))
            \cup Misused(page, other, InUse(e.effects))
            \cup UNION {Miscounted(page, other, known, marks) : marks \in e.marks}
        leaked == "FD" \in seen \/ unanswered \cap (Answered(other.given) \cup {QuestionOf(other.own)}) # {}
    IN  IF leaked THEN {"FD"} ELSE seen

(* Nor may it stop short: idle, or refusing although it must go on.                                                       *)
WrongOrStuck(page, other, c, e, must) ==
    Wrong(page, other, c, e) \cup Only("LV", e.kind = "idle" \/ (must /\ e.kind = "refused" /\ ~Struck(c, e)))

(* A recovery may refuse while nothing is durable, after a schema refusal, when all is done and when the next task waits  *)
(* for an answer. Which is next depends on the record that may be hidden.                                                 *)
MustRecover(page) ==
    LET waits(done) == Tasks \subseteq done \/ ~(Questions(Least(Tasks \ done)) \subseteq page.acked)
    IN  page.frontier # {} /\ page.poisoned = {} /\ ~waits(page.frontier) /\ ~waits(page.frontier \cup page.fired)

(* A command that had to be inert; `property` is what it breaks by going on all the same.                                 *)
NotInert(page, other, c, e, property) ==
    LET seen == Wrong(page, other, c, e)
    IN  IF "FD" \in seen THEN seen
        ELSE seen \cup Only(property, Moved(page, e))
             \cup Only("LV", e.kind = "idle" /\ page.status \in {"parked", "completed"})

-------------------------------------------------------------------------------
(* Deliveries. *)

Asking(c) == QuestionOf(c.token)
Handed(page, c) == [page EXCEPT !.given = @ \cup {<<Asking(c), c.token>>}]

(* Whether the token may be taken. On a crashed run any delivery may go on, with its token unless that was acknowledged.  *)
Open(page, c) ==
    \/ page.status = "crashed" /\ Asking(c) \notin page.acked
    \/ c.op = "resume" /\ page.status = "parked" /\ Asking(c) \in page.pending

-------------------------------------------------------------------------------
(* Forks. *)

ForkPage(trunk, c) ==
    LET earlier == {pair \in trunk.given : Earlier(pair[1], Asking(c))}
        before == 1..(Asking(c)[1] - 1)
    IN  [Blank EXCEPT !.status = "parked", !.frontier = before, !.fired = before, !.acked = Answered(earlier),
                      !.given = earlier \cup {<<Asking(c), c.token>>}, !.base = trunk.base, !.own = c.token]

(* Where "latest" still means the trunk, or the fork left nothing durable, a crash may show the trunk's frontier.         *)
ShownOfFork(trunk, t) ==
    IF t.expect.kind = "crashed" /\ t.expect.frontier = {trunk.frontier} /\ t.note.value \notin {"fork", "moved"}
    THEN [t.expect EXCEPT !.frontier = {}] ELSE t.expect

(* A fork that was served fires its gate or asks that gate's next question, and stands where it was cut off.              *)
WrongFork(trunk, c, t) ==
    LET e == t.expect
        page == ForkPage(trunk, c)
        q == Asking(c)
        statusOnly ==
            /\ e.kind \in {"parked", "completed", "idle"} /\ e.effects = <<>>
            /\ \/ e.frontier # {page.frontier}
               \/ \A p \in AskedBy(e) : p \notin page.acked /\ ~(p[1] = q[1] /\ p[2] > q[2])
    IN  IF e.kind = "refused" /\ ~Struck(c, e) THEN NotInert(trunk, Blank, c, e, "FD")
        ELSE IF statusOnly THEN {"FD"}
        ELSE Wrong(page, trunk, c, ShownOfFork(trunk, t))

-------------------------------------------------------------------------------
(* The input sent again. *)

Anew(page, meaning) ==
    LET old == {n + k : n \in page.base, k \in Cardinality(page.frontier)..Cardinality(page.frontier \cup page.fired)}
    IN  [Blank EXCEPT !.base = CASE meaning = "new epoch, empty state" -> {0}
                                 [] meaning = "new epoch, accumulated state" -> old
                                 [] OTHER -> {0} \cup old]

(* Where nothing is durable the epoch may begin once more: its task in doubt runs again, its questions come back.         *)
Over(page) == [page EXCEPT !.acked = {}, !.pending = {}]

(* The meaning that the target chose. Where it names none, the first in which nothing is wrong.                           *)
Meaning(page, other, c, t) ==
    LET e == t.expect
        unseen == [e EXCEPT !.frontier = {{}}]
    IN  IF page.status = "new" \/ t.note.value \in {"new epoch, empty state", "new epoch, accumulated state"} THEN "epoch"
        ELSE IF t.note.value \in {"refused", "inert"} THEN "rests"
        ELSE IF t.note.value = "continues" THEN "goes on"
        ELSE IF page.frontier = {} THEN "over"
        ELSE IF e.kind = "crashed" /\ e.frontier = {page.frontier} /\ Wrong(Anew(page, ""), Blank, c, unseen) = {}
             THEN "vanished"  \* with all of the new epoch: the old one goes on
        ELSE IF NotInert(page, other, c, e, "RS") = {} THEN "rests"
        ELSE IF page.status = "crashed" /\ WrongOrStuck(page, other, c, e, MustRecover(page)) = {} THEN "goes on"
        ELSE IF WrongOrStuck(Anew(page, ""), Blank, c, e, TRUE) = {} THEN "epoch"
        ELSE "none"

-------------------------------------------------------------------------------
(* Any command. *)

Reading(page, other, c, t) ==
    CASE c.op \in {"inspect", "reload", "tamper"} -> "looks"
      [] c.op \in {"recover", "recover2"} -> "goes on"
      [] c.op = "fork" -> "forks"
      [] c.op \in {"start", "restart"} -> Meaning(page, other, c, t)
      [] c.op \in {"resume", "redeliver", "stray"} ->
             IF page.status = "crashed" THEN "may go on" ELSE IF Open(page, c) THEN "served" ELSE "rests"

Breaks(page, other, c, t, reading) ==
    LET e == t.expect
        given == IF Open(page, c) THEN Handed(page, c) ELSE page
    IN  CASE ledger.damaged -> Only("CV", e.kind # "refused" \/ e.effects # <<>>)
          [] reading = "looks" -> Only("IN", c.op = "inspect" /\ Moved(page, e))
          [] reading = "goes on" ->
                 WrongOrStuck(page, other, c, e, MustRecover(page)) \cup Only("RD", \E twin \in e.twin : ~Alike(e, twin))
          [] reading = "served" -> WrongOrStuck(given, other, c, e, TRUE) \cup Only("LV", Asking(c) \in AskedBy(e))
          [] reading = "may go on" -> Wrong(given, other, c, e)
          [] reading = "rests" -> NotInert(page, other, c, e, IF c.op \in {"start", "restart"} THEN "RS" ELSE "CO")
          [] reading = "forks" -> WrongFork(page, c, t)
          [] reading = "epoch" -> WrongOrStuck(Anew(page, t.note.value), Blank, c, e, TRUE)
          [] reading = "over" -> WrongOrStuck(Over(page), other, c, e, FALSE)
          [] reading = "vanished" -> {}
          [] reading = "none" -> {"RS"}

(* The page after a command. `ran`: it is certain that the branch went on, so that a status told is the branch's own.     *)
Entry(page, c, e, ran) ==
    LET now == FrontierNow(page, e)
        told == ran /\ e.kind \in {"parked", "completed"}
        status == IF e.kind = "crashed" \/ Struck(c, e) THEN "crashed" ELSE IF told THEN e.kind ELSE page.status
        asked == IF told THEN AskedBy(e) ELSE {}
        used == InUse(e.effects)
        kept(pair) == pair[1] \notin asked /\ (pair[1] \in page.acked \cap Answered(used) => pair \in used)
    IN  [page EXCEPT !.status = status,
                     !.frontier = now,
                     !.fired = (@ \cup FiredIn(e)) \ (IF Struck(c, e) THEN {c.poison} ELSE {}),
                     !.poisoned = @ \cup ({c.poison} \cap FiredIn(e)),
                     !.given = {pair \in @ : kept(pair)},
                     !.acked = (@ \cup {q \in Answered(page.given) : told \/ q[1] \in now}) \ asked,
                     !.pending = IF told THEN asked ELSE IF status = "parked" THEN @ ELSE {}]

(* On a crashed run, a reply without an effect can be that of a delivery that was ignored.                                *)
Taken(page, c, e) ==
    LET kept == IF Open(page, c) /\ (e.kind # "refused" \/ Struck(c, e)) THEN Handed(page, c) ELSE page
        next == \E q \in AskedBy(e) : c.op = "resume" /\ Open(page, c) /\ q # Asking(c) /\ q[1] = Asking(c)[1]
    IN  Entry(kept, c, e, Moved(page, e) \/ next)

Written(onFork, page, c, t, reading) ==
    LET e == t.expect
        on(fork, new) == IF fork THEN [ledger EXCEPT !.fork = new] ELSE [ledger EXCEPT !.trunk = new]
    IN  CASE reading = "looks" -> [ledger EXCEPT !.damaged = @ \/ c.op = "tamper"]
          [] reading \in {"rests", "vanished"} -> ledger
          [] reading = "goes on" -> on(onFork, Entry(page, c, e, TRUE))
          [] reading = "served" -> on(onFork, Entry(Handed(page, c), c, e, TRUE))
          [] reading = "may go on" -> on(onFork, Taken(page, c, e))
          [] reading = "forks" ->
                 IF t.note.choice # "latest" THEN ledger  \* refused, or nothing is left of it
                 ELSE on(TRUE, Entry(ForkPage(page, c), c, ShownOfFork(page, t), TRUE))
          [] reading = "epoch" -> [Unwritten EXCEPT !.trunk = Entry(Anew(page, t.note.value), c, e, TRUE)]
          [] reading = "over" ->
                 IF OnFork(t.state, "latest") THEN on(TRUE, Entry(Over(page), c, e, TRUE))
                 ELSE [Unwritten EXCEPT !.trunk = Entry(Over(page), c, e, TRUE)]

(* The page of the branch that the command meant. A fork is always cut from the trunk.                                    *)
Judge(c, t) ==
    LET onFork == c.op # "fork" /\ OnFork(state, c.branch)
        page == IF onFork THEN ledger.fork ELSE ledger.trunk
        other == IF onFork THEN ledger.trunk ELSE ledger.fork
        reading == Reading(page, other, c, t)
    IN  /\ broken' = Breaks(page, other, c, t, reading)
        /\ ledger' = IF broken' # {} \/ ledger.damaged THEN ledger ELSE Written(onFork, page, c, t, reading)

-------------------------------------------------------------------------------

EveryShape == OneQuestion \cup DefaultBounds \cup GateFirst \cup TwoGates

JudgedInit == Init /\ ledger = Unwritten /\ broken = {}

JudgedNext ==
    /\ broken = {}
    /\ \E c \in Menu : \E transition \in Admitted(state, c) : Send(c, transition) /\ Judge(c, transition)

JudgedSpec == JudgedInit /\ [][JudgedNext]_<<vars, ledger, broken>>

ASSUME TLCSet(1, {})

(* Always true: prints each fault set that is explored, and each fault set and property once, at the shallowest state     *)
(* where it falls, as Report does.                                                                                        *)
Reported ==
    LET new == {<<faults, property>> : property \in broken} \ TLCGet(1)
    IN  /\ TLCGet("level") = 0 => PrintT(<<"explored", faults>>)
        /\ new = {} \/ (/\ TLCSet(1, TLCGet(1) \cup new)
                        /\ \A pair \in new : PrintT(<<"falls", pair[1], pair[2], TLCGet("level") + 1>>))
===============================================================================
