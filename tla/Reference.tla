------------------------------ MODULE Reference ------------------------------
(* The reference semantics: one total next-state relation. Admitted(s, c) is everything that the contract allows command c  *)
(* to show in state s, and where that leads; fault switches add what a broken engine may show.                              *)
(* `fuzzresume.contract.reference` states the same relation for the monitor; the tests compare the two, edge by edge.       *)
EXTENDS Life

NoBranch == [Fresh EXCEPT !.status = "none"]

(* One possible world. `tokens` were delivered in this epoch; `stray` is a delivery that StrayPoisons left behind; `latest` *)
(* is the branch that a command without an address means, and with `moves` that is the branch written last.                 *)
Unstarted ==
    [trunk |-> Fresh, fork |-> NoBranch, latest |-> "trunk", moves |-> FALSE, tokens |-> {}, stray |-> NoToken,
     tampered |-> "", over |-> FALSE]

(* A command. `crash` says that a crash is planted, not where: that is read from what the command shows.                    *)
Command(op, token, branch, crash, poison, kind) ==
    [op |-> op, token |-> token, branch |-> branch, crash |-> crash, poison |-> poison, kind |-> kind]

OnFork(s, name) == name = "latest" /\ s.latest = "fork" /\ s.fork # NoBranch
Addressed(s, name) == IF OnFork(s, name) THEN s.fork ELSE s.trunk
Put(s, name, b) == IF OnFork(s, name) THEN [s EXCEPT !.fork = b] ELSE [s EXCEPT !.trunk = b]

-------------------------------------------------------------------------------
(* What a command may show. An empty set in `pending`, `marks`, `reentered`, `frontier` or `twin`: not compared. `fresh` is *)
(* a token that must be inert: a reply that shows it was told consumed, although it must not be.                            *)
Shows(kind, frontier) ==
    [kind |-> kind, effects |-> <<>>, pending |-> {}, marks |-> {}, reentered |-> {{}}, frontier |-> frontier,
     twin |-> {}, fresh |-> NoToken]

ShownBy(run) ==
    [kind |-> run.kind, effects |-> run.effects,
     pending |-> IF run.kind = "parked" THEN {<<q>> : q \in run.question} ELSE {},
     marks |-> IF run.kind = "completed" THEN {run.branch.marks} ELSE {},
     reentered |-> {run.reentered}, frontier |-> {Visible(run.branch)}, twin |-> {}, fresh |-> NoToken]

(* A legal choice that a transition rests on: constant for a target where `binding`. *)
NoNote == [choice |-> "", value |-> "", binding |-> FALSE]
Note(choice, value) == [choice |-> choice, value |-> value, binding |-> FALSE]
Binding(choice, value) == [Note(choice, value) EXCEPT !.binding = TRUE]

To(expect, state, note) == [expect |-> expect, state |-> state, note |-> note]
Noted(transitions, note) == {[t EXCEPT !.note = note] : t \in transitions}

-------------------------------------------------------------------------------
(* Continuing a branch. *)

OneOf(token) == {token} \ {NoToken}
Asks(token) == {QuestionOf(t) : t \in OneOf(token)}

Follow(s, c, b, plan, answers, delivered) ==
    LET how == [pool |-> (IF "Misroute" \in faults THEN s.tokens ELSE {}) \cup OneOf(s.stray), stray |-> s.stray,
                poison |-> c.poison, askAgain |-> "Replay" \in faults]
    IN  UNION {Finish(b, way, Asks(delivered)) \cup (IF c.crash THEN Cut(b, way, Asks(delivered)) ELSE {}) :
                  way \in Go(plan, 1, <<>>, answers, how)}

Runs(s, c, b, answers, delivered) ==
    UNION {Follow(s, c, b, plan, answers, delivered) : plan \in Plans(b, b.status \in {"crashed", "parked"})}

(* AnswerLost: an acknowledged answer is gone, unless its task is durable or it came just now. *)
Survivors(b, answers, delivered) ==
    {answers} \cup (IF "AnswerLost" \in faults
                    THEN {{pair \in answers : pair[1][1] \in b.done \/ pair[2] = delivered}} ELSE {})

GoOn(s, c, b, answers, delivered, note) ==
    UNION {LET after == Put(s, c.branch, run.branch)
           IN  {To(ShownBy(run), after, note)}
               \cup (IF after.moves /\ c.branch = "trunk"
                     THEN {To(ShownBy(run), [after EXCEPT !.latest = "trunk"], note)} ELSE {}) :
              run \in UNION {Runs(s, c, b, held, delivered) : held \in Survivors(b, answers, delivered)}}

(* A branch that a fault lost: no command goes on with it. *)
DeadEnd(s, c, b) ==
    {To(Shows(kind, {Visible(b)}), Put(s, c.branch, b), NoNote) :
        kind \in {"refused", "idle", "completed"} \cup (IF c.crash THEN {"crashed"} ELSE {})}

(* A reply that changes nothing and shows the present status. *)
Status(s, c, b, then) ==
    LET fresh == IF c.token # NoToken /\ c.op # "redeliver" THEN c.token ELSE NoToken
        reply(kind) == To([Shows(kind, {Visible(b)}) EXCEPT !.fresh = fresh], then, NoNote)
        parked(q) == To([Shows("parked", {Visible(b)}) EXCEPT !.fresh = fresh, !.pending = {<<q>>}], then, NoNote)
    IN  IF b.status = "parked" /\ Pending(b) # {} THEN {parked(q) : q \in Pending(b)}
        ELSE IF b.status = "completed" THEN {reply("completed")}
        ELSE {reply("idle")}
             \cup (IF b.status = "crashed" THEN {parked(q) : q \in Pending(b)} ELSE {})
             \cup (IF Complete(b) THEN {reply("completed")} ELSE {})

(* StrayPoisons: what was refused or ignored changes what later commands do. *)
Inert(s, c, b, choice, onlyRefused) ==
    LET afterwards == {s} \cup (IF "StrayPoisons" \in faults
                                THEN {[s EXCEPT !.stray = c.token], Put(s, c.branch, [b EXCEPT !.status = "stuck"])}
                                ELSE {})
    IN  UNION {{To(Shows("refused", {Visible(b)}), then, Note(choice, "refused"))}
               \cup (IF c.crash THEN {To(Shows("crashed", {Visible(b)}), then, NoNote)} ELSE {})
               \cup (IF onlyRefused THEN {} ELSE Noted(Status(s, c, b, then), Note(choice, "inert"))) : then \in afterwards}

-------------------------------------------------------------------------------
(* Recovery, and deliveries. *)

Recovery(s, c, b) ==
    LET refusal(note) == {To(Shows("refused", {Visible(b)}), s, note)}
    IN  IF b.status \in {"lost", "stuck"} THEN DeadEnd(s, c, b)
        ELSE (IF "ParkLost" \in faults /\ Pending(b) # {} THEN DeadEnd(s, c, [b EXCEPT !.status = "lost"]) ELSE {})
             \cup (IF Complete(b)
                   THEN GoOn(s, c, b, b.answers, NoToken, Note("recover@completed", "completed"))
                        \cup refusal(Note("recover@completed", "refused"))
                   ELSE GoOn(s, c, b, b.answers, NoToken, NoNote)
                        \cup (IF Pending(b) # {} THEN refusal(Note("recover@parked", "refused"))
                              ELSE IF b.done = {} THEN refusal(Note("recover@nothing-durable", "refused"))
                              ELSE IF b.poisoned THEN refusal(Note("recover@poisoned", "refused"))
                              ELSE IF "RefuseRecovery" \in faults THEN refusal(NoNote)
                              ELSE {}))

(* Plans that start from some durable task not after `last`. *)
FromAny(b, last) ==
    LET durable == InOrder(b.done \cap Tasks)
        suffix(i) == [j \in 1..(Len(durable) - i + 1) |-> Again(durable[i + j - 1])]
    IN  {suffix(i) \o Todo(b) : i \in {i \in DOMAIN durable : durable[i] <= last}}

AnyPlan(b) ==
    FromAny(b, Len(asks)) \cup {Todo(b)} \cup (IF Todo(b) # <<>> THEN {SkipFirst(Todo(b))} ELSE {})
    \cup {<<Again(t)>> : t \in b.done \cap Tasks}

(* Continuing the run without using the token is a policy on a crashed run: frameworks have one call for "go on".           *)
MustBeInert(s, c, b) ==
    LET q == QuestionOf(c.token)
        served == With(b.answers, q, c.token)
        choice == c.op \o "@" \o b.status
        plans == {<<plan, answers>> : plan \in FromAny(b, q[1]), answers \in {served, b.answers}}
    IN  IF b.status \in {"lost", "stuck"} THEN DeadEnd(s, c, b)
        ELSE Inert(s, c, b, choice, FALSE)
             \cup (IF b.status = "crashed"
                   THEN LET ways == {t \in Recovery(s, c, b) : t.expect.kind # "refused" \/ t.expect.effects # <<>>}
                        IN  Noted(ways, Note(choice, "recovers")) ELSE {})
             \cup (IF "DoubleConsume" \in faults
                   THEN UNION {{To(ShownBy(run), Put(s, c.branch, run.branch), NoNote) :
                                   run \in Follow(s, c, b, p[1], p[2], c.token)} : p \in plans}
                        \cup (IF q[1] \notin b.done
                            THEN GoOn(s, c, b, served, c.token, NoNote) \cup GoOn(s, c, b, b.answers, NoToken, NoNote)
                            ELSE {})
                   ELSE {})
             \cup (IF "Misroute" \in faults
                   THEN UNION {GoOn(s, c, b, With(b.answers, p, c.token), c.token, NoNote) : p \in Pending(b) \ {q}} ELSE {})

(* Where an answer to a later question of the gate is held too, the gate went on: it may count this one as taken.           *)
Passed(b, q) == q \in Answered(b.answers) /\ \E r \in Answered(b.answers) : r[1] = q[1] /\ r[2] > q[2]

Resume(s, c) ==
    LET b == Addressed(s, c.branch)
        q == QuestionOf(c.token)
        served == With(b.answers, q, c.token)
        known == GoOn(s, c, b, b.answers, c.token, NoNote)
        parks == {t \in known : t.expect.kind = "parked" /\ t.expect.effects = <<>>}
        stray == IF "StrayPoisons" \in faults  \* a gate that had asked on before it died finds the answer stray
                 THEN {[t EXCEPT !.state.stray = c.token] : t \in parks} ELSE {}
    IN  IF b.status \in {"lost", "stuck"} THEN DeadEnd(s, c, b)
        ELSE (IF "ParkLost" \in faults /\ b.status = "parked" THEN DeadEnd(s, c, [b EXCEPT !.status = "lost"]) ELSE {})
             \cup (IF b.status = "parked" /\ q \in Pending(b) THEN GoOn(s, c, b, served, c.token, NoNote)
                   ELSE IF b.status = "crashed" /\ q \notin b.acked /\ q \in b.inflight \cup Pending(b)
                   THEN GoOn(s, c, b, served, c.token, NoNote)
                        \cup (IF q \in Answered(b.answers) THEN known \cup stray ELSE {})
                        \cup Inert(s, c, b, "resume", TRUE)
                        \cup (IF q \notin b.inflight \/ Passed(b, q) THEN Inert(s, c, b, "resume", FALSE) ELSE {})
                   ELSE MustBeInert(s, c, b))

(* A branch that asks the question takes what comes for it, new or old.                                                     *)
Waits(b, token) == b.status = "parked" /\ QuestionOf(token) \in Pending(b)

Redeliver(s, c) ==
    LET b == Addressed(s, c.branch)
        q == QuestionOf(c.token)
    IN  (IF Waits(b, c.token) THEN Resume(s, c) ELSE {})
        \cup
        (IF b.status = "crashed" /\ (q \in b.inflight \/ (q \in Pending(b) /\ q \notin b.acked))
         THEN GoOn(s, c, b, With(b.answers, q, c.token), c.token, Note("redeliver@crashed", "recovers")) ELSE {})
        \cup MustBeInert(s, c, b)

(* The same wire call as a resume: where the question is open after all, it is one. *)
Stray(s, c) == Resume(s, c)

-------------------------------------------------------------------------------
(* Forks. *)

(* ForkIgnore: an older answer in place of the fork's own, and the trunk's answers to later questions of the gate.          *)
Ignoring(s, earlier, token) ==
    LET q == QuestionOf(token)
        later == {pair \in s.trunk.answers : pair[1][1] = q[1] /\ Earlier(q, pair[1])}
        heads == {{pair \in later : ~Earlier(r, pair[1])} : r \in Answered(later)}
        older == {t \in s.tokens : QuestionOf(t) = q} \ {token}
    IN  {With(earlier, q, token) \cup more : more \in heads}
        \cup {With(earlier, q, t) \cup more : t \in older, more \in heads \cup {{}}}

ForkPoint(trunk, q) ==
    LET before == 1..(q[1] - 1)
        earlier == {pair \in trunk.answers : Earlier(pair[1], q)}
        kept == trunk.base + Cardinality(before)
    IN  [Fresh EXCEPT !.status = "parked", !.done = before, !.base = trunk.base, !.answers = earlier,
                      !.acked = Answered(earlier), !.asked = {r \in trunk.asked : ~Earlier(q, r)},
                      !.marks = SubSeq(trunk.marks, 1, IF kept < Len(trunk.marks) THEN kept ELSE Len(trunk.marks))]

Leaks(trunk, token, fork) ==
    LET q == QuestionOf(token)
        leaked == [trunk EXCEPT !.answers = With(@, q, token)]
    IN  {leaked, fork} \cup (IF q[1] \notin trunk.done THEN {[leaked EXCEPT !.status = "crashed"]} ELSE {})

(* Which branch "latest" means afterwards is one constant choice of the target.                                             *)
Fork(s, c) ==
    LET q == QuestionOf(c.token)
        point == ForkPoint(s.trunk, q)
        still == {Visible(s.trunk)}
        ways == {With(point.answers, q, c.token)}
                \cup (IF "ForkIgnore" \in faults THEN Ignoring(s, point.answers, c.token) ELSE {})
        ended(run) ==
            LET shown == ShownBy(run)
                to(latest) == [s EXCEPT !.fork = run.branch, !.latest = IF latest = "trunk" THEN "trunk" ELSE "fork",
                                        !.moves = latest = "moved"]
            IN  (IF run.kind = "crashed" /\ Visible(run.branch) = Visible(point)  \* nothing of the branch is durable: the trunk shows
                 THEN {To([shown EXCEPT !.frontier = still], s, NoNote)} ELSE {})
                \cup {To(shown, to(latest), Binding("latest", latest)) : latest \in {"fork", "trunk", "moved"}}
                \cup {To([shown EXCEPT !.frontier = still], to(latest), Binding("latest", latest)) :  \* nobody was told where
                         latest \in CASE run.kind = "refused" -> {"fork", "trunk", "moved"}          \* the branch is
                                      [] run.kind = "crashed" -> {"trunk"}
                                      [] OTHER -> {}}
                \cup (IF "ForkLeak" \in faults
                      THEN {To(shown, [to(latest) EXCEPT !.trunk = leaked], Binding("latest", latest)) :
                               latest \in {"fork", "trunk", "moved"}, leaked \in Leaks(s.trunk, c.token, run.branch)}
                      ELSE {})
    IN  {To(Shows("refused", still), s, Note("fork", "refused"))}
        \cup (IF q \notin s.trunk.asked THEN {}
              ELSE (IF "ForkIgnore" \in faults THEN Status(s, c, s.trunk, s) ELSE {})
                   \cup UNION {ended(run) : run \in UNION {Runs(s, c, point, answers, c.token) : answers \in ways}})

-------------------------------------------------------------------------------
(* A run from its input. *)

Epoch(s, c, fresh, note) ==
    LET begun == [Unstarted EXCEPT !.stray = s.stray, !.tokens = IF "RestartMix" \in faults THEN s.tokens ELSE {}]
        unread(t) == [t EXCEPT !.expect.reentered = {}]
        early(t) == t.expect.kind = "crashed" /\ t.state.trunk.done = {} /\ note # NoNote
        old == {Visible(Addressed(s, "latest"))}
        steps == GoOn(begun, c, fresh, fresh.answers, NoToken, NoNote)
    IN  {[unread(t) EXCEPT !.note = note] : t \in steps}
        \cup {[unread(t) EXCEPT !.expect.frontier = old, !.state = s] : t \in {t \in steps : early(t)}}

(* RestartMix: a part of the old state only, or the old prefix or answers in a new epoch. *)
Mixed(fresh, old) ==
    LET order == InOrder(old.done \cap Tasks)
        heads == {{pair \in old.answers : ~Earlier(q, pair[1])} : q \in Answered(old.answers)} \cup {{}}
        prefixes == {{order[i] : i \in 1..n} : n \in 0..Len(order)}
    IN  {[fresh EXCEPT !.marks = SubSeq(old.marks, 1, n), !.base = n] : n \in 1..(Len(old.marks) - 1)}
        \cup {[fresh EXCEPT !.status = "crashed", !.done = mix[1], !.answers = mix[2], !.marks = mix[3], !.base = 0] :
                 mix \in {m \in prefixes \X heads \X {<<>>, old.marks} : m[1] # {} \/ m[2] # {}}}

Restart(s, c) ==
    LET b == Addressed(s, "latest")
        nothing == b.status = "crashed" /\ b.done = {}
        fresh == [b EXCEPT !.status = "new", !.answers = {}, !.acked = {}, !.inflight = {}, !.asked = {}]
        choice == "restart@" \o b.status \o (IF b.status = "crashed" /\ Complete(b) THEN ", all durable" ELSE "")
        anew(kind, marks) ==
            LET empty == [Fresh EXCEPT !.marks = marks, !.base = Len(marks)]
            IN  Epoch(s, c, empty, Binding(choice, kind))
                \cup (IF "RestartMix" \in faults THEN UNION {Epoch(s, c, mix, NoNote) : mix \in Mixed(empty, b)} ELSE {})
    IN  (IF b.status = "new" \/ nothing THEN Epoch(s, c, fresh, NoNote) ELSE {})
        \cup (IF b.status = "new" THEN {}
              ELSE (IF "ParkLost" \in faults /\ Pending(b) # {} THEN DeadEnd(s, c, [b EXCEPT !.status = "lost"]) ELSE {})
                   \cup {To(Shows("refused", {Visible(b)}), s, Binding(choice, "refused"))}
                   \cup Noted(Status(s, c, b, s), Binding(choice, "inert"))
                   \cup (IF b.status = "crashed" THEN Noted(Recovery(s, c, b), Binding(choice, "continues")) ELSE {})
                   \cup (IF b.status = "stuck"
                         THEN IF c.crash THEN {To(Shows("crashed", {Visible(b)}), s, NoNote)} ELSE {}
                         ELSE anew("new epoch, empty state", <<>>) \cup anew("new epoch, accumulated state", b.marks)))

Start(s, c) ==
    LET b == Addressed(s, c.branch)
        first == b.status = "new" \/ (b.status = "crashed" /\ b.done = {} /\ b.inflight = {})
        told == b.status = "new" \/ Pending(b) = {}  \* else the store may hold the park of a question that nobody was told
    IN  (IF first THEN GoOn(s, c, [b EXCEPT !.status = "new"], b.answers, NoToken, NoNote) ELSE {})
        \cup (IF first /\ told THEN {} ELSE Restart(s, c))

-------------------------------------------------------------------------------
(* The other commands. *)

Recover(s, c) == Recovery(s, c, Addressed(s, c.branch))

(* Two recoveries from copies of one store; the first goes on. NondetRecovery lets the second follow any plan.              *)
Recover2(s, c) ==
    LET b == Addressed(s, c.branch)
        single == Recover(s, c)
        twin(t, expect) == [t EXCEPT !.expect.twin = {expect}]
        odd == {t.expect : t \in single}
               \cup {ShownBy(run) : run \in UNION {Follow(s, c, b, plan, b.answers, NoToken) : plan \in AnyPlan(b)}}
    IN  {twin(t, t.expect) : t \in single}
        \cup (IF "NondetRecovery" \in faults THEN {twin(t, expect) : t \in single, expect \in odd} ELSE {})

Quiet(s, c) == {To(Shows("inert", {Visible(Addressed(s, c.branch))}), s, NoNote)}

Inspect(s, c) ==
    LET b == Addressed(s, c.branch)
        acts(run) == To([ShownBy(run) EXCEPT !.kind = "inert", !.pending = {}, !.marks = {}], Put(s, c.branch, run.branch), NoNote)
    IN  Quiet(s, c)
        \cup {To(Shows("refused", {Visible(b)}), s, NoNote)}
        \cup (IF "InspectActs" \in faults
              THEN {acts(run) : run \in UNION {Follow(s, c, b, plan, b.answers, NoToken) : plan \in AnyPlan(b)}} ELSE {})

Tamper(s, c) == {To(Shows("inert", {}), [s EXCEPT !.tampered = c.kind], NoNote)}

Untampered(s, c) ==
    LET known == [s EXCEPT !.tokens = @ \cup OneOf(c.token)]
    IN  CASE c.op = "start" -> Start(known, c)
          [] c.op = "resume" -> Resume(known, c)
          [] c.op = "redeliver" -> Redeliver(known, c)
          [] c.op = "stray" -> Stray(known, c)
          [] c.op = "fork" -> Fork(known, c)
          [] c.op \in {"recover", "retry"} -> Recover(known, c)
          [] c.op = "recover2" -> Recover2(known, c)
          [] c.op = "restart" -> Restart(known, c)
          [] c.op = "inspect" -> Inspect(known, c)
          [] c.op = "reload" -> Quiet(known, c)
          [] c.op = "tamper" -> Tamper(known, c)

(* A damaged store: every command that reads it is refused before an effect fires, and the trace ends. An unknown extra     *)
(* field may be ignored.                                                                                                    *)
Tampered(s, c) ==
    LET over == [s EXCEPT !.over = TRUE]
        loose(t) == To([t.expect EXCEPT !.frontier = {}, !.marks = {}], [t.state EXCEPT !.over = TRUE], NoNote)
    IN  {To(Shows("refused", {}), over, NoNote)}
        \cup (IF c.op \in {"inspect", "reload"} THEN {To(Shows("inert", {}), s, NoNote)} ELSE {})
        \cup (IF s.tampered = "extra-field" \/ "TamperAccept" \in faults
              THEN {loose(t) : t \in Untampered([s EXCEPT !.tampered = ""], c)} ELSE {})
        \cup (IF "TamperAccept" \in faults
              THEN {To(Shows(kind, {}), over, NoNote) : kind \in {"completed", "parked", "idle"}} ELSE {})

Admitted(s, c) == IF s.over THEN {} ELSE IF s.tampered # "" THEN Tampered(s, c) ELSE Untampered(s, c)

-------------------------------------------------------------------------------
(* What was seen of a command is a record like that of Shows, with `shown`, the tokens in the reply's own state.            *)

Agree(expected, got) == expected = {} \/ got = {} \/ expected = got

Alike(e, got) ==
    /\ e.kind = got.kind
    /\ e.effects = got.effects
    /\ Agree(e.pending, got.pending)
    /\ Agree(e.marks, got.marks)
    /\ Agree(e.reentered, got.reentered)
    /\ Agree(e.frontier, got.frontier)

Admits(e, seen) ==
    /\ Alike(e, seen)
    /\ e.fresh = NoToken \/ e.fresh \notin seen.shown
    /\ e.twin = {} \/ seen.twin = {} \/ \A x \in e.twin, y \in seen.twin : Alike(x, y)

(* A world is a state and the binding choices it rests on, a set of pairs. *)
Fits(policy, note) == note.binding => \A chosen \in policy : chosen[1] = note.choice => chosen[2] = note.value
Grown(policy, note) == IF note.binding THEN policy \cup {<<note.choice, note.value>>} ELSE policy

(* Where a command may lead each of the worlds; and the worlds that are left of those once it was seen what it showed.      *)
Onward(worlds, c) == UNION {{<<w.policy, t>> : t \in {t \in Admitted(w.state, c) : Fits(w.policy, t.note)}} : w \in worlds}
Left(onward, seen) ==
    {[state |-> pair[2].state, policy |-> Grown(pair[1], pair[2].note)] :
        pair \in {pair \in onward : Admits(pair[2].expect, seen)}}

(* A crash that was seen neither of the command nor of the twin need not be looked for. *)
Advance(worlds, c, seen) ==
    LET died == seen.kind = "crashed" \/ \E twin \in seen.twin : twin.kind = "crashed"
    IN  Left(Onward(worlds, [c EXCEPT !.crash = @ /\ died]), seen)
=============================================================================
