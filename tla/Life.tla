--------------------------------- MODULE Life ---------------------------------
(* What one life may do: from a branch and a plan to every way in which a command may leave the branch, crash states        *)
(* included. Faults add plans or change single steps, so two faults compose in one life without a rule for the pair.        *)
(*                                                                                                                          *)
(* A question is <<task, index>>; an answer token is <<task, index, delivery>>, the question it was meant for and a number; *)
(* answers are a set of pairs <<question, token>>; a mark is <<task, tokens>>. What may be absent is a set of at most one.  *)
EXTENDS Naturals, Sequences, FiniteSets

VARIABLES
    asks,   \* frozen: the workload's shape; task t asks asks[t] questions before its effect may fire
    faults  \* frozen: the fault switches that are on

NoToken == <<0, 0, 0>>
QuestionOf(token) == <<token[1], token[2]>>

Tasks == DOMAIN asks
Questions(t) == {<<t, i>> : i \in 1..asks[t]}
AllQuestions == UNION {Questions(t) : t \in Tasks}
Earlier(q, r) == q[1] < r[1] \/ (q[1] = r[1] /\ q[2] < r[2])
InOrder(tasks) == SelectSeq([t \in 1..Len(asks) |-> t], LAMBDA t : t \in tasks)

Least(numbers) == CHOOSE n \in numbers : \A m \in numbers : n <= m
Greatest(numbers) == CHOOSE n \in numbers : \A m \in numbers : n >= m

Answered(answers) == {pair[1] : pair \in answers}
AnswerOf(answers, q) == (CHOOSE pair \in answers : pair[1] = q)[2]
Without(answers, q) == {pair \in answers : pair[1] # q}
With(answers, q, token) == Without(answers, q) \cup {<<q, token>>}

(* One branch of one epoch. `done` are the durable tasks, `hidden` those that the frontier does not show, `marks` the run's *)
(* state, of which a restart inherited the first `base`.                                                                    *)
Fresh ==
    [status |-> "new", done |-> {}, hidden |-> {}, marks |-> <<>>, base |-> 0, answers |-> {},
     acked |-> {}, inflight |-> {}, asked |-> {}, poisoned |-> FALSE]

Visible(b) == b.done \ b.hidden
Complete(b) == Tasks \subseteq b.done

(* The question that the branch asks next without running a task first.                                                     *)
Pending(b) ==
    IF Complete(b) THEN {}
    ELSE LET t == Least(Tasks \ b.done)
             open == {i \in 1..asks[t] : <<t, i>> \notin Answered(b.answers)}
         IN  IF open = {} THEN {} ELSE {<<t, Least(open)>>}

-------------------------------------------------------------------------------
(* Plans: the tasks that a life goes through. *)

Step(t) == [task |-> t, again |-> FALSE, silent |-> FALSE, skip |-> FALSE]
Again(t) == [Step(t) EXCEPT !.again = TRUE]
Silent(t) == [Again(t) EXCEPT !.silent = TRUE]
Skipped(t) == [Step(t) EXCEPT !.skip = TRUE]

Todo(b) == [i \in 1..Cardinality(Tasks \ b.done) |-> Step(InOrder(Tasks \ b.done)[i])]
SkipFirst(todo) == <<Skipped(todo[1].task)>> \o Tail(todo)

Plans(b, recovering) ==
    LET todo == Todo(b)
        durable == InOrder(b.done \cap Tasks)
        all == [i \in 1..Len(durable) |-> Again(durable[i])]
        prefix == [i \in 1..Len(durable) |-> IF asks[durable[i]] > 0 THEN Silent(durable[i]) ELSE Again(durable[i])]
    IN  {todo}
        \cup (IF durable # <<>> /\ "Replay" \in faults THEN {all \o todo} ELSE {})
        \cup (IF durable # <<>> /\ "PrefixReplay" \in faults THEN {prefix \o todo} ELSE {})
        \cup (IF durable # <<>> /\ "ReexecLast" \in faults THEN {<<Again(durable[Len(durable)])>> \o todo} ELSE {})
        \cup (IF "SkipTask" \in faults /\ recovering /\ todo # <<>> THEN {SkipFirst(todo)} ELSE {})

-------------------------------------------------------------------------------
(* Trajectories: whole lives without a crash, as events between any two of which the life can die.                          *)
(* `how` holds `pool` and `stray`, tokens that a fault may serve to a question nobody answered; `poison`, the task that     *)
(* returns an invalid update (0: none); and `askAgain`: a gate that runs again may also ask its questions again.            *)

Event(kind, step, tokens) == [kind |-> kind, step |-> step, tokens |-> tokens]
Trajectory(events, end, question, answers) ==
    [events |-> events, end |-> end, question |-> question, answers |-> answers]

RECURSIVE Go(_, _, _, _, _), Ask(_, _, _, _, _, _)

Fire(plan, i, events, held, how) ==
    LET step == plan[i]
        tokens == [j \in 1..asks[step.task] |-> AnswerOf(held, <<step.task, j>>)]
        fired == IF step.silent THEN events ELSE Append(events, Event("effect", step, tokens))
        recorded == Append(fired, Event("record", step, tokens))
        struck == how.poison = step.task /\ ~step.silent
    IN  (IF struck THEN {Trajectory(fired, "invalid", {}, held)} ELSE {})
        \cup (IF struck /\ "InvalidPersist" \in faults THEN {Trajectory(recorded, "invalid", {}, held)} ELSE {})
        \cup (IF struck /\ ~step.again /\ "InvalidPersist" \notin faults THEN {} ELSE Go(plan, i + 1, recorded, held, how))

(* Misroute serves an answer to another question than its own; what StrayPoisons left behind goes to any. *)
Ask(plan, i, events, held, from, how) ==
    LET t == plan[i].task
        open == {j \in from..asks[t] : <<t, j>> \notin Answered(held)}
    IN  IF open = {} THEN Fire(plan, i, events, held, how)
        ELSE LET q == <<t, Least(open)>>
             IN  {Trajectory(events, "parked", {q}, held)}
                 \cup UNION {Ask(plan, i, events, With(held, q, token), q[2] + 1, how) :
                                token \in {x \in how.pool : QuestionOf(x) # q \/ x = how.stray}}

Go(plan, i, events, held, how) ==
    IF i > Len(plan) THEN {Trajectory(events, "completed", {}, held)}
    ELSE LET step == plan[i]
             entered == Append(events, Event("enter", step, <<>>))
         IN  IF step.skip THEN Go(plan, i + 1, Append(events, Event("record", step, <<>>)), held, how)
             ELSE (IF step.again /\ how.askAgain /\ asks[step.task] > 0
                   THEN {Trajectory(entered, "parked", {<<step.task, 1>>}, held)} ELSE {})
                  \cup Ask(plan, i, entered, held, 1, how)

-------------------------------------------------------------------------------
(* Runs: how a command leaves the branch, and what it shows. *)

Run(kind, effects, reentered, b, question) ==
    [kind |-> kind, effects |-> effects, reentered |-> reentered, branch |-> b, question |-> question]

RECURSIVE Recorded(_, _, _)
(* `twice`: a task that runs again adds its mark again. What was hidden shows once a further task is durable. *)
Recorded(b, events, twice) ==
    IF events = <<>> THEN b
    ELSE LET e == Head(events)
             mark == <<e.step.task, e.tokens>>
             new == e.step.task \notin b.done
             after == IF e.kind # "record" THEN b
                      ELSE IF new THEN [b EXCEPT !.done = @ \cup {e.step.task}, !.hidden = {},
                                                 !.marks = IF e.step.skip THEN @ ELSE Append(@, mark)]
                      ELSE IF twice /\ ~e.step.silent THEN [b EXCEPT !.marks = Append(@, mark)]
                      ELSE b
         IN  Recorded(after, Tail(events), twice)

Fired(events) ==
    LET effects == SelectSeq(events, LAMBDA e : e.kind = "effect")
    IN  [i \in 1..Len(effects) |-> <<effects[i].step.task, effects[i].tokens>>]
Reentered(b, events) == {events[i].step.task : i \in {j \in DOMAIN events : events[j].kind = "enter"}} \cap Visible(b)
Twice(events) == IF \E i \in DOMAIN events : events[i].step.again THEN {FALSE, TRUE} ELSE {FALSE}

(* What the frontier does not show it may show after any command. *)
HiddenOrNot(run) == {run} \cup (IF run.branch.hidden # {} THEN {[run EXCEPT !.branch.hidden = {}]} ELSE {})

(* Answers of durable tasks are acknowledged; the delivered one, if its task is not durable, may or may not be.             *)
InDoubt(b, delivered) ==
    LET acked == b.acked \cup {q \in Answered(b.answers) : q[1] \in b.done}
        known == [b EXCEPT !.acked = acked, !.inflight = @ \ acked]
        waiting == [known EXCEPT !.inflight = @ \cup delivered]
    IN  IF \A q \in delivered : q[1] \in b.done THEN {known}
        ELSE {waiting} \cup {[waiting EXCEPT !.answers = Without(@, q)] : q \in delivered}

(* The command goes through. `delivered` is the question that it brought an answer to, if any. What refuses an invalid      *)
(* update may end the life before records that nobody waited for: with LateRecord, as in a death.                           *)
Finish(b, way, delivered) ==
    LET effects == Fired(way.events)
        reentered == Reentered(b, way.events)
        records == SelectSeq(way.events, LAMBDA e : e.kind = "record")
        left(k, twice) == [Recorded(b, SubSeq(records, 1, k), twice) EXCEPT !.answers = way.answers]
        after(twice) == left(Len(records), twice)
        kept == (IF "LateRecord" \in faults THEN 0 ELSE Len(records))..Len(records)
        refused(r) == Run("refused", effects, reentered, [r EXCEPT !.status = "crashed", !.poisoned = TRUE], {})
        told(r) ==
            Run(way.end, effects, reentered,
                [r EXCEPT !.status = way.end, !.inflight = {}, !.asked = @ \cup way.question,
                          !.acked = (@ \cup Answered(r.answers)) \ way.question],
                way.question)
    IN  UNION {IF way.end = "invalid"
               THEN UNION {HiddenOrNot(refused(r)) : r \in UNION {InDoubt(left(k, twice), delivered) : k \in kept}}
               ELSE HiddenOrNot(told(after(twice))) : twice \in Twice(way.events)}

(* The command dies: every crash state, with the store's doubts. The record of the last task whose effect fired may be      *)
(* durable, or durable but not shown, or missing. With LateRecord any number of records is missing. A life that a fault     *)
(* made run durable tasks again may have dropped their records first.                                                       *)
Forgetting(b, tasks) ==
    [b EXCEPT !.done = @ \ tasks, !.hidden = @ \ tasks,
              !.marks = SubSeq(@, 1, b.base)
                        \o SelectSeq(SubSeq(@, b.base + 1, Len(@)), LAMBDA mark : mark[1] \notin tasks)]

Cut(b, way, delivered) ==
    LET again == {way.events[i].step.task : i \in {j \in DOMAIN way.events : way.events[j].step.again}}
        at(n) ==
            LET passed == SubSeq(way.events, 1, n)
                effects == Fired(passed)
                reentered == Reentered(b, passed)
                records == SelectSeq(passed, LAMBDA e : e.kind = "record")
                status == IF passed = <<>> /\ b.status = "parked" /\ delivered = {} THEN "parked" ELSE "crashed"
                kept == (IF "LateRecord" \in faults THEN 0 ELSE Len(records))..Len(records)
                after(store, k, twice) ==
                    [Recorded(store, SubSeq(records, 1, k), twice) EXCEPT !.answers = way.answers, !.status = status]
                last == way.events[n].step.task
                refused == way.end = "invalid" /\ n = Len(way.events)  \* an update that broke the schema is in no record
                hide(r) == IF n > 0 /\ way.events[n].kind = "effect" /\ last \notin r.done /\ ~refused
                           THEN {Run("crashed", effects, reentered,
                                     [r EXCEPT !.done = @ \cup {last}, !.hidden = {last}, !.answers = way.answers,
                                               !.marks = Append(@, <<last, way.events[n].tokens>>)], {})}
                           ELSE {}
                left == UNION {InDoubt(after(store, k, twice), delivered) :
                                  store \in {b, Forgetting(b, again)}, k \in kept, twice \in Twice(way.events)}
            IN  UNION {HiddenOrNot(Run("crashed", effects, reentered, r, {})) \cup hide(r) : r \in left}
    IN  UNION {at(n) : n \in 0..Len(way.events)}
=============================================================================
