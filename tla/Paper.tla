-------------------------------- MODULE Paper --------------------------------
(* The smallest recovery plane: what the paper's own model allows and nothing more, so that the figures of this      *)
(* folder can be laid next to the published ones. Tasks 1..NTasks run in order; the one at IP is the gate, whose     *)
(* effect waits for an answer. A task that completes appends a record to the durable log; recovery goes on from a    *)
(* task that it picks by looking at the log alone.                                                                   *)
(*                                                                                                                   *)
(* Left out, because the paper leaves it out (the other modules of this folder have it):                             *)
(*  - an effect and its record are one step, so no task is ever in doubt and a crash of the reference loses nothing  *)
(*    that its log does not give back: only the list of decisions tells that it took place;                          *)
(*  - no crash before a life has got past task 1, after the last task, or (unless ParkedCrash says so) while parked; *)
(*  - a fork is answered on the spot: it runs no suffix and fires no effect;                                         *)
(*  - CO is nothing but EO at the gate; PaperRacers tells its two clauses apart;                                     *)
(*  - liveness says that a run does not get stuck, no more.                                                          *)
(* A switch in Faults strikes every time it can, save NondetRecovery, whose choice *is* the fault.                   *)
EXTENDS Naturals, Sequences, Report

CONSTANTS
    NTasks,           \* tasks of the workload
    IP,               \* the gate
    Values,           \* what an answer can be
    MaxResumes,       \* answers sent to the gate, forks included
    MaxCrashes,
    MaxExtraResumes,  \* stray answers to a run that is complete
    Faults,           \* the switches that are on
    ParkedCrash,      \* "none", or what a crash does to a parked question: "durable" keeps it, "volatile" loses it
    Rebuild           \* where recovery takes the run's state from, see State

Tasks == 1..NTasks
Switches == {"Replay", "PrefixReplay", "NondetRecovery", "ForkIgnore", "InvalidPersist", "DoubleConsume"}

ASSUME /\ IP \in Tasks \ {1} /\ MaxResumes > 0
       /\ Faults \subseteq Switches
       /\ ParkedCrash \in {"none", "durable", "volatile"} /\ Rebuild \in BOOLEAN

VARIABLES
    next,       \* the task to run next, NTasks + 1 when all have run
    status,     \* "running", "parked" at the gate, or "lost": the gate was asked, and nothing is pending any more
    effects,    \* how often each task's effect has fired
    log,        \* the durable log, one record a completion
    answers,    \* what the gate has consumed; the first is in force
    forks,      \* what each fork was given, and what it was served
    decisions,  \* where each recovery went on, and the frontier it saw
    strays      \* stray answers sent

vars == <<next, status, effects, log, answers, forks, decisions, strays>>

On(switch) == switch \in Faults
Complete == next > NTasks
Answered == answers # <<>>
Given == Len(answers) + Len(forks)
Frontier == IF log = <<>> THEN 0 ELSE CHOOSE t \in Tasks : (\E i \in DOMAIN log : log[i].task = t)
                                                        /\ (\A i \in DOMAIN log : log[i].task <= t)

Init ==
    /\ next = 1 /\ status = "running"
    /\ effects = [t \in Tasks |-> 0]
    /\ log = <<>> /\ answers = <<>> /\ forks = <<>> /\ decisions = <<>>
    /\ strays = 0

-----------------------------------------------------------------------------
(* Effect and record of the task at hand, in one step. InvalidPersist spoils the last record, which no task reads.   *)
Finish(fires) ==
    /\ effects' = [effects EXCEPT ![next] = @ + (IF fires THEN 1 ELSE 0)]
    /\ log' = Append(log, [task |-> next, valid |-> ~(On("InvalidPersist") /\ next = NTasks)])
    /\ next' = next + 1

(* The gate runs here too once it was answered, which only a faulty recovery brings about: the answer is then taken  *)
(* from the record and not asked for again.                                                                          *)
Task ==
    /\ status = "running" /\ ~Complete
    /\ ~(next = IP /\ ~Answered)
    /\ Finish(~(next = IP /\ On("PrefixReplay")))
    /\ UNCHANGED <<status, answers, forks, decisions, strays>>

(* Parking is a step of its own, so that a run can stop right before it or right after it.                           *)
Park ==
    /\ status = "running" /\ next = IP /\ ~Answered
    /\ status' = "parked"
    /\ UNCHANGED <<next, effects, log, answers, forks, decisions, strays>>

Resume(v) ==
    /\ status = "parked" /\ Given < MaxResumes
    /\ answers' = Append(answers, v)
    /\ status' = "running"
    /\ Finish(TRUE)
    /\ UNCHANGED <<forks, decisions, strays>>

(* A second look at the gate with another answer, at any time after the first one: the trunk goes on as if nothing   *)
(* had been sent.                                                                                                    *)
Fork(v) ==
    /\ Answered /\ Given < MaxResumes
    /\ forks' = Append(forks, [given |-> v, served |-> IF On("ForkIgnore") THEN answers[1] ELSE v])
    /\ UNCHANGED <<next, status, effects, log, answers, decisions, strays>>

(* Where recovery may go on: behind the frontier, unless a switch makes it forget records.                           *)
Continuations ==
    IF Faults \cap {"Replay", "PrefixReplay"} # {} THEN {1}
    ELSE {Frontier + 1} \cup (IF On("NondetRecovery") THEN {Frontier} ELSE {})

(* Crash and recovery are one step: between them nothing can happen that anybody sees.                               *)
Crash(to) ==
    /\ next > 1 /\ ~Complete /\ Len(decisions) < MaxCrashes
    /\ \/ status = "running" /\ status' = "running"
       \/ status = "parked" /\ ParkedCrash = "durable" /\ status' = IF to = IP THEN "parked" ELSE "running"
       \/ status = "parked" /\ ParkedCrash = "volatile" /\ status' = IF to = IP THEN "lost" ELSE "running"
    /\ next' = to
    /\ decisions' = Append(decisions, [frontier |-> Frontier, next |-> to])
    /\ UNCHANGED <<effects, log, answers, forks, strays>>

(* Which value it carries makes no difference to a run that is complete, so it has none.                             *)
Stray ==
    /\ Complete /\ strays < MaxExtraResumes
    /\ strays' = strays + 1
    /\ effects' = [effects EXCEPT ![IP] = @ + (IF On("DoubleConsume") THEN 1 ELSE 0)]
    /\ UNCHANGED <<next, status, log, answers, forks, decisions>>

Progress == Task \/ Park \/ (\E v \in Values : Resume(v))
Next == Progress \/ (\E v \in Values : Fork(v)) \/ (\E to \in Continuations : Crash(to)) \/ Stray

(* Fair is the engine and whoever owes it an answer: nobody has to crash, fork or send strays.                       *)
Fair == Init /\ [][Next]_vars /\ WF_vars(Progress)
Completes == <>Complete

-----------------------------------------------------------------------------
(* The records name each task once and in order: none ran again once it was durable, none was left out.              *)
PC == \A i \in DOMAIN log : log[i].task = i
EO == \A t \in Tasks : effects[t] <= 1
FD == \A i \in DOMAIN forks : forks[i].served = forks[i].given
CV == \A i \in DOMAIN log : log[i].valid
CO == effects[IP] <= 1
RD == \A i, j \in DOMAIN decisions :
          decisions[i].frontier = decisions[j].frontier => decisions[i].next = decisions[j].next

(* The run's state, to which each task adds its mark. With Rebuild it is made from the records, where a task that    *)
(* ran again counts twice. Without, it is what the tasks before `next` leave behind when they run from an empty      *)
(* state, so a replay makes it anew and it looks as if each had run once.                                            *)
State == [t \in Tasks |-> IF Rebuild THEN Len(SelectSeq(log, LAMBDA r : r.task = t)) ELSE IF t < next THEN 1 ELSE 0]

(* All of PC that somebody who sees nothing but the state can judge.                                                 *)
PCState == \A t \in Tasks : State[t] <= 1

Reported == Report("PC" :> PC @@ "EO" :> EO @@ "FD" :> FD @@ "CV" :> CV @@ "CO" :> CO @@ "RD" :> RD
                   @@ "PC-s" :> PCState)

(* Every action but Park makes one of these grow by one, and without parked crashes a run parks once: this is the    *)
(* number of states of any run that ends here. For bounds that are too wide to exhaust when only the depth of a fall *)
(* is asked for: no state deeper than the end of a run without crash and fork that was sent one stray.               *)
Depth == 1 + Len(log) + (IF Answered \/ status = "parked" THEN 1 ELSE 0) + Len(forks) + Len(decisions) + strays
Shallow == Depth <= NTasks + 3
=============================================================================
