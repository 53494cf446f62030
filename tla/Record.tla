-------------------------------- MODULE Record --------------------------------
(* An effect and the durable record of its task are two steps, and a life can die between them. Tasks 1..NTasks run   *)
(* in order. This is where exactly-once ends: the task in doubt can run again (EO-b, counted as refires, legal),      *)
(* because no recovery knows from the store alone whether its effect has fired, unless the task's own update got      *)
(* there before the life died (see Saves), which makes the window smaller and does not close it.                      *)
(*                                                                                                                    *)
(* A task that has run waits in `late` for its record, and the life does not go on until that is durable. With        *)
(* LateRecord it does go on, records follow in order, and a death leaves several tasks in doubt at once.              *)
(*                                                                                                                    *)
(* Left out: questions. The gate is a task as any other, answered long ago; it only tells Replay from PrefixReplay.   *)
(* Entering a task and its effect are one step, since a death between them shows nowhere. A crash during recovery is  *)
(* a crash right after it.                                                                                            *)
EXTENDS Naturals, Sequences, FiniteSets, Report

CONSTANTS
    NTasks, Gate,  \* tasks of the workload, and which of them is the gate
    MaxCrashes,
    Saves,         \* whether a task's update is in the store before its record, so that recovery can use it and not run
                   \* the task again: the other of the two legal ways out of a death in the window
    Faults         \* the switches that are on; each *may* strike

Tasks == 1..NTasks

ASSUME /\ Gate \in Tasks /\ Saves \in BOOLEAN
       /\ Faults \subseteq {"LateRecord", "Replay", "PrefixReplay", "ReexecLast", "SkipTask", "RefuseRecovery"}

VARIABLES
    life,       \* "up", "down" after a crash, or "refused": recovery does not take this store
    next,       \* the task that this life runs next
    silent,     \* whether this life lets a gate that is durable pass without its effect
    late,       \* run in this life, and not recorded yet
    durable,    \* the tasks whose completion is recorded: the frontier
    saved,      \* the tasks whose update is in the store
    marks,      \* the tasks whose mark is in the run's state
    effects,    \* how often each task's effect has fired
    refires,    \* how often it did so while the task was in doubt
    reentered,  \* the tasks that were entered while they were durable
    crashes

vars == <<life, next, silent, late, durable, saved, marks, effects, refires, reentered, crashes>>

On(switch) == switch \in Faults
Zero == [t \in Tasks |-> 0]
Frontier == Cardinality(durable)  \* records are in order, so it is also the last durable task
InDoubt == {t \in Tasks : effects[t] > 0} \ durable
ToldComplete == life = "up" /\ next > NTasks /\ late = <<>>

Init ==
    /\ life = "up" /\ next = 1 /\ silent = FALSE /\ late = <<>>
    /\ durable = {} /\ saved = {} /\ marks = {}
    /\ effects = Zero /\ refires = Zero
    /\ reentered = {} /\ crashes = 0

-------------------------------------------------------------------------------
(* A task runs, whatever the store says about it: what it means that it runs again is for the properties to say.      *)
Task ==
    /\ life = "up" /\ next <= NTasks
    /\ late = <<>> \/ On("LateRecord")
    /\ LET fires == ~(silent /\ next = Gate /\ Gate \in durable)
       IN  /\ effects' = [effects EXCEPT ![next] = @ + (IF fires THEN 1 ELSE 0)]
           /\ refires' = [refires EXCEPT ![next] = @ + (IF fires /\ next \in InDoubt THEN 1 ELSE 0)]
    /\ reentered' = reentered \cup ({next} \cap durable)
    /\ late' = Append(late, next)
    /\ next' = next + 1
    /\ UNCHANGED <<life, silent, durable, saved, marks, crashes>>

(* A write ahead of the record, of the update alone; what an earlier life saved stays good.                           *)
Save ==
    /\ Saves /\ life = "up" /\ late # <<>>
    /\ Head(late) \notin saved
    /\ saved' = saved \cup {Head(late)}
    /\ UNCHANGED <<life, next, silent, late, durable, marks, effects, refires, reentered, crashes>>

(* The record and the state's next version are one write.                                                             *)
Record ==
    /\ life = "up" /\ late # <<>>
    /\ Saves => Head(late) \in saved
    /\ durable' = durable \cup {Head(late)}
    /\ marks' = marks \cup {Head(late)}
    /\ late' = Tail(late)
    /\ UNCHANGED <<life, next, silent, saved, effects, refires, reentered, crashes>>

(* At any point, also before the first task and after the last; what is not in the store is gone.                     *)
Crash ==
    /\ life = "up" /\ crashes < MaxCrashes
    /\ life' = "down"
    /\ next' = 1 /\ silent' = FALSE /\ late' = <<>>
    /\ crashes' = crashes + 1
    /\ UNCHANGED <<durable, saved, marks, effects, refires, reentered>>

-------------------------------------------------------------------------------
(* Recovery: where the next life goes on, from the store alone. *)

Continue(from, quietly) ==
    /\ life = "down" /\ life' = "up"
    /\ next' = from /\ silent' = quietly
    /\ UNCHANGED <<late, saved, effects, refires, reentered, crashes>>

(* What the contract asks for: on behind the frontier.                                                                *)
Recover == Continue(Frontier + 1, FALSE) /\ UNCHANGED <<durable, marks>>

(* The first task that is not durable has left its update: take it, write the record that is missing, and do not run  *)
(* it.                                                                                                                *)
Adopt ==
    /\ Frontier + 1 \in saved
    /\ Continue(Frontier + 2, FALSE)
    /\ durable' = durable \cup {Frontier + 1}
    /\ marks' = marks \cup {Frontier + 1}

(* The frontier is forgotten, or its last record is not looked at.                                                    *)
RunAgain ==
    /\ durable # {}
    /\ \/ On("Replay") /\ Continue(1, FALSE)
       \/ On("PrefixReplay") /\ Continue(1, TRUE)
       \/ On("ReexecLast") /\ Continue(Frontier, FALSE)
    /\ UNCHANGED <<durable, marks>>

(* As Adopt, but there is nothing to take: the record says done, and the mark is missing.                             *)
Skip ==
    /\ On("SkipTask") /\ Frontier < NTasks
    /\ Continue(Frontier + 2, FALSE)
    /\ durable' = durable \cup {Frontier + 1}
    /\ UNCHANGED marks

(* Whoever asks again gets the same reply from the same store.                                                        *)
Refuse ==
    /\ On("RefuseRecovery") /\ Frontier < NTasks
    /\ life = "down" /\ life' = "refused"
    /\ UNCHANGED <<next, silent, late, durable, saved, marks, effects, refires, reentered, crashes>>

Progress == Task \/ Save \/ Record \/ Recover \/ Adopt \/ RunAgain \/ Skip \/ Refuse
Next == Progress \/ Crash

(* A run that is told complete while tasks are missing never completes, so LV falls either way.                       *)
Fair == Init /\ [][Next]_vars /\ WF_vars(Progress)
Completes == <>(ToldComplete /\ marks = Tasks)

-------------------------------------------------------------------------------
EOa == \A t \in Tasks : effects[t] - refires[t] <= 1
EOb == refires = Zero
EOc == life # "up" => Cardinality(InDoubt) <= 1
COe == effects[Gate] - refires[Gate] <= 1
PC == reentered = {} /\ durable \subseteq marks
LV == ToldComplete => marks = Tasks

Reported == Report("EO-a" :> EOa @@ "EO-b" :> EOb @@ "EO-c" :> EOc @@ "CO-e" :> COe @@ "PC" :> PC @@ "LV" :> LV)
===============================================================================
