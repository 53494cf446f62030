---------------------------------- MODULE Dag ----------------------------------
(* A diamond: task 1, then 2 and 3 at the same time, then 4. What a crash leaves depends on when the records of tasks *)
(* that run at the same time become durable: each as its task returns (Durability "task"), or all those of a          *)
(* superstep together, as the last of them returns ("superstep"). Either way a record is one step with the return     *)
(* that brings it about, so whatever parts the two kinds is due to siblings.                                          *)
(*                                                                                                                    *)
(* Three readings of exactly-once, which part here:                                                                   *)
(*  - EO, the paper's: a task that completed (fired and returned) never fires again. Superstep durability breaks it:  *)
(*    a task returned, a crash came before its sibling did, and recovery runs both.                                   *)
(*  - EO-a, the contract's: a task that was durable never fires again. Both kinds of durability keep it.              *)
(*  - EO-c, the contract's: not more than one task in doubt at once. Superstep durability breaks it; a framework      *)
(*    whose documentation says that it records by the superstep gets `documented` for it, not `violated`.             *)
(* Counting alone is too strict where tasks run at the same time: two siblings that had both fired and not returned   *)
(* are both in doubt, each in its own inherent window, and no record was late. So EO-c-returned asks what EO-c is     *)
(* about: whether a task that *had returned* is in doubt beside another, that is, whether something ran on while its  *)
(* record was not awaited.                                                                                            *)
(*                                                                                                                    *)
(* Left out: questions, and the window between a return and the record that it brings about: module Record is about   *)
(* that one. Crash and recovery are one step, since between them nothing can happen that anybody sees.                *)
EXTENDS Naturals, FiniteSets, Report

CONSTANTS
    Durability,  \* "task" or "superstep"
    Flight,      \* whether firing and returning are two steps; if not, a crash finds no task in the middle
    MaxCrashes,
    Faults       \* the switches that are on; each *may* strike

ASSUME /\ Durability \in {"task", "superstep"} /\ Flight \in BOOLEAN
       /\ Faults \subseteq {"Replay", "SkipTask"}

Tasks == 1..4
Supersteps == {{1}, {2, 3}, {4}}
Siblings(t) == CHOOSE step \in Supersteps : t \in step
Before(t) == CASE t = 1 -> {} [] t \in {2, 3} -> {1} [] t = 4 -> {2, 3}

VARIABLES
    flying,     \* fired in this life, and not returned
    returned,   \* returned in this life, and not recorded
    held,       \* the tasks that this life knows to be done
    durable,    \* the tasks whose completion is recorded: the frontier
    fired,      \* the tasks whose effect fired, in any life
    completed,  \* the tasks that returned, in any life
    again,      \* the tasks whose effect fired again, each with what it was by then
    skipped,    \* the tasks that recovery took for done, without their mark
    crashes

vars == <<flying, returned, held, durable, fired, completed, again, skipped, crashes>>

Init ==
    /\ flying = {} /\ returned = {} /\ held = {} /\ durable = {}
    /\ fired = {} /\ completed = {} /\ again = {} /\ skipped = {}
    /\ crashes = 0

-------------------------------------------------------------------------------
Was(t) == IF t \in durable THEN "durable" ELSE IF t \in completed THEN "completed" ELSE "flying"
Ready(t) == Before(t) \subseteq held /\ t \notin held \cup flying \cup returned

(* That an effect fires again is kept with what the task was by then, for the readings of exactly-once to judge.      *)
Fires(t) ==
    /\ Ready(t)
    /\ fired' = fired \cup {t}
    /\ again' = IF t \in fired THEN again \cup {<<t, Was(t)>>} ELSE again

(* The task is over. Its record is written now, or waits until no sibling is left, and then all are written at once.  *)
Returns(t) ==
    /\ completed' = completed \cup {t}
    /\ IF Durability = "task" \/ Siblings(t) \subseteq returned \cup held \cup {t}
       THEN /\ durable' = durable \cup returned \cup {t}
            /\ held' = held \cup returned \cup {t}
            /\ returned' = {}
       ELSE returned' = returned \cup {t} /\ UNCHANGED <<durable, held>>

(* With Flight, a crash can come while the task is under way.                                                         *)
Fire(t) ==
    /\ Flight /\ Fires(t)
    /\ flying' = flying \cup {t}
    /\ UNCHANGED <<returned, held, durable, completed, skipped, crashes>>

(* Siblings return in any order.                                                                                      *)
Return(t) ==
    /\ t \in flying /\ flying' = flying \ {t}
    /\ Returns(t)
    /\ UNCHANGED <<fired, again, skipped, crashes>>

(* Without it, a task is one step, as in the paper.                                                                   *)
Task(t) ==
    /\ ~Flight /\ Fires(t)
    /\ Returns(t)
    /\ UNCHANGED <<flying, skipped, crashes>>

(* The life dies, and the next one goes on with what it takes for done: the frontier, less with Replay. With SkipTask *)
(* it records one more, a task that could have run next, as done.                                                     *)
CrashTo(known, missed) ==
    /\ crashes < MaxCrashes
    /\ known = durable \/ ("Replay" \in Faults /\ known = {})
    /\ missed = {} \/ ("SkipTask" \in Faults /\ \E t \in Tasks \ durable : missed = {t} /\ Before(t) \subseteq durable)
    /\ flying' = {} /\ returned' = {}
    /\ held' = known \cup missed /\ durable' = durable \cup missed
    /\ skipped' = skipped \cup missed
    /\ crashes' = crashes + 1
    /\ UNCHANGED <<fired, completed, again>>

Progress == \E t \in Tasks : Fire(t) \/ Return(t) \/ Task(t)
Crash == \E known \in {durable, {}}, missed \in {{}} \cup {{t} : t \in Tasks} : CrashTo(known, missed)
Next == Progress \/ Crash

Fair == Init /\ [][Next]_vars /\ WF_vars(Progress)
Completes == <>(held = Tasks /\ skipped = {})

-------------------------------------------------------------------------------
(* What this life has in hand may still be recorded, so only what a dead one left is in doubt.                        *)
InDoubt == fired \ (durable \cup flying \cup returned)

EO == \A x \in again : x[2] = "flying"
EOa == \A x \in again : x[2] # "durable"
EOb == again = {}
EOc == Cardinality(InDoubt) <= 1
EOcReturned == EOc \/ InDoubt \cap completed = {}
PC == EOa /\ skipped = {}

Reported == Report("EO" :> EO @@ "EO-a" :> EOa @@ "EO-b" :> EOb @@ "EO-c" :> EOc @@ "EO-c-returned" :> EOcReturned
                   @@ "PC" :> PC)
===============================================================================
