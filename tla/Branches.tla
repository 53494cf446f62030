------------------------------- MODULE Branches -------------------------------
(* Forks as branches of their own. Tasks 1..NTasks run in order, the one at IP is a gate. Once the trunk's gate was   *)
(* answered, later deliveries to the same question come in, at any time; each was meant as a fork (a second outcome,  *)
(* wanted beside the first) or as a retry (the caller does not know whether the first delivery got through). A fork   *)
(* makes a branch that starts at the gate with its own answer, runs the gate and the whole suffix, and leaves the     *)
(* trunk alone; a retry does nothing.                                                                                 *)
(*                                                                                                                    *)
(* What came over the wire is a value, and the intent only if IntentOnWire. If not, the responder can only guess, by  *)
(* a fixed Policy, and FD and CO cannot both hold: two deliveries that look the same need opposite treatment          *)
(* (Proposition 1 of the paper, in small). A policy that looks at the value does not get out of it, and breaks both.  *)
(*                                                                                                                    *)
(* Left out: crashes (an effect and its record are one step, see module Record), several questions, forks of forks.   *)
(* Each delivery is its own answer token, namely its number, whatever value it carries: two that say the same can     *)
(* still be told apart by us, not by the responder.                                                                   *)
EXTENDS Naturals, Sequences, FiniteSets, Report

CONSTANTS
    NTasks, IP,    \* tasks of the workload, and the gate
    Values,        \* what an answer can say
    MaxLater,      \* deliveries after the first answer
    IntentOnWire,  \* whether the public API can say fork apart from retry
    Policy,        \* what the responder does otherwise: "always-fork", "always-retry", or "by-value": another value
                   \* than the first answer's is a fork, the same value a retry
    Faults         \* the switches that are on; each *may* strike

Tasks == 1..NTasks

ASSUME /\ IP \in Tasks /\ IntentOnWire \in BOOLEAN
       /\ Policy \in {"always-fork", "always-retry", "by-value"}
       /\ Faults \subseteq {"ForkIgnore", "ForkLeak", "DoubleConsume"}

VARIABLES
    branches,  \* the trunk first; each with the task it runs next, the token it was served, and its own effects
    parked,    \* whether the trunk waits at the gate
    sent       \* the deliveries: what each meant and said, and the branch it acted on (0: it was inert, 1: the trunk)

vars == <<branches, parked, sent>>

Trunk == branches[1]
Branch(next, token) == [next |-> next, token |-> token, effects |-> [t \in Tasks |-> 0]]
Complete(b) == branches[b].next > NTasks

Init ==
    /\ branches = <<Branch(1, 0)>>
    /\ parked = FALSE /\ sent = <<>>

-------------------------------------------------------------------------------
(* The next task of any branch, trunk or not. A branch is served before it runs, so only the trunk can come to the    *)
(* gate without an answer.                                                                                            *)
Task(b) ==
    /\ ~Complete(b)
    /\ ~(branches[b].next = IP /\ branches[b].token = 0)
    /\ branches' = [branches EXCEPT ![b].next = @ + 1, ![b].effects[branches[b].next] = @ + 1]
    /\ UNCHANGED <<parked, sent>>

(* Parking is a step of its own, so that there is a state in which the question is open.                              *)
Park ==
    /\ Trunk.next = IP /\ Trunk.token = 0 /\ ~parked
    /\ parked' = TRUE
    /\ UNCHANGED <<branches, sent>>

(* The first answer. The gate's effect is the trunk's next step, so later deliveries can come before it.              *)
Answer(v) ==
    /\ parked /\ parked' = FALSE
    /\ sent' = <<[means |-> "answer", says |-> v, branch |-> 1]>>
    /\ branches' = [branches EXCEPT ![1].token = 1]

-------------------------------------------------------------------------------
(* The later deliveries. *)

TakenFor(means, v) ==
    IF IntentOnWire THEN means
    ELSE CASE Policy = "always-fork" -> "fork"
           [] Policy = "always-retry" -> "retry"
           [] Policy = "by-value" -> IF v = sent[1].says THEN "retry" ELSE "fork"

(* Whatever a delivery does, it is noted what it meant.                                                               *)
Deliver(means, v, branch) ==
    /\ sent # <<>> /\ Len(sent) <= MaxLater
    /\ sent' = Append(sent, [means |-> means, says |-> v, branch |-> branch])
    /\ UNCHANGED parked
Token == Len(sent) + 1
New == Len(branches) + 1

(* What is taken for a fork gets a branch, whatever it meant.                                                         *)
Fork(means, v) ==
    /\ Deliver(means, v, New)
    /\ TakenFor(means, v) = "fork"
    /\ branches' = Append(branches, Branch(IP, Token))

(* What is taken for a retry is inert, whatever it meant.                                                             *)
Retry(means, v) ==
    /\ Deliver(means, v, 0)
    /\ TakenFor(means, v) = "retry"
    /\ UNCHANGED branches

(* The fork is answered with the trunk's status; or makes a branch, which finds the trunk's answer on record.         *)
ForkIgnored(means, v) ==
    /\ "ForkIgnore" \in Faults
    /\ \/ Deliver(means, v, 0) /\ UNCHANGED branches
       \/ Deliver(means, v, New) /\ branches' = Append(branches, Branch(IP, 1))
    /\ TakenFor(means, v) = "fork"

(* The branch is right, but its answer takes the place of the trunk's.                                                *)
ForkLeaks(means, v) ==
    /\ "ForkLeak" \in Faults
    /\ Deliver(means, v, New)
    /\ TakenFor(means, v) = "fork"
    /\ branches' = Append([branches EXCEPT ![1].token = Token], Branch(IP, Token))

(* A retry is consumed like a first answer: the trunk runs again from some durable task, at the latest from the gate. *)
RetryConsumed(means, v, t) ==
    /\ "DoubleConsume" \in Faults
    /\ Deliver(means, v, 1)
    /\ TakenFor(means, v) = "retry"
    /\ t < Trunk.next
    /\ branches' = [branches EXCEPT ![1].next = t, ![1].token = Token]

Later(means, v) ==
    \/ Fork(means, v) \/ Retry(means, v)
    \/ ForkIgnored(means, v) \/ ForkLeaks(means, v) \/ \E t \in 1..IP : RetryConsumed(means, v, t)

Progress == Park \/ (\E v \in Values : Answer(v)) \/ (\E b \in DOMAIN branches : Task(b))
Next == Progress \/ (\E means \in {"fork", "retry"}, v \in Values : Later(means, v))

(* Progress can only go on for so long, so it needs no fairness to single branches. Nobody has to deliver anything.   *)
Fair == Init /\ [][Next]_vars /\ WF_vars(Progress)

-------------------------------------------------------------------------------
Meant(intent) == {i \in DOMAIN sent : sent[i].means = intent}

(* How often task t's effect may fire on a branch that a fork makes, and has fired once the branch is complete.       *)
Once(t) == IF t < IP THEN 0 ELSE 1

Served(i) ==
    /\ sent[i].branch > 1
    /\ branches[sent[i].branch].token = i
    /\ \A t \in Tasks : branches[sent[i].branch].effects[t] <= Once(t)
FD == \A i \in Meant("fork") : Served(i) /\ Trunk.token # i

(* CO: what must be inert is. CO-e counts the effects that the trunk's question got: those at the gate on the trunk,  *)
(* and on the branches that no fork was meant to make.                                                                *)
CO == \A i \in Meant("retry") : sent[i].branch = 0
Unmeant == {b \in DOMAIN branches \ {1} : \A i \in Meant("fork") : sent[i].branch # b}
COe == Trunk.effects[IP] + Cardinality({b \in Unmeant : branches[b].effects[IP] > 0}) <= 1

(* Judged within one branch: a fork that nobody meant does not touch it.                                              *)
EO == \A b \in DOMAIN branches, t \in Tasks : branches[b].effects[t] <= 1

FI == IntentOnWire

Reported == Report("FD" :> FD @@ "CO" :> CO @@ "CO-e" :> COe @@ "EO" :> EO @@ "FI" :> FI)

(* What FD cannot say of one state: a fork does get its outcome. With the trunk's part, this is liveness (LV).        *)
Outcome(i) == Served(i) /\ \A t \in Tasks : branches[sent[i].branch].effects[t] = Once(t)
Completes ==
    /\ <>Complete(1)
    /\ \A i \in 2..(MaxLater + 1) : (i \in Meant("fork")) ~> (i \in Meant("fork") /\ Outcome(i))
===============================================================================
