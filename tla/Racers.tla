-------------------------------- MODULE Racers --------------------------------
(* K racers: processes that answer one parked question at the same time through one store. Each reads the store,      *)
(* claims the question or not, fires the gate's effect, and records the answer as consumed, which is what it replies. *)
(* An effect and its record are two steps here: a racer can die between them, and leaves its effect in doubt.         *)
(*                                                                                                                    *)
(* What each kind of claim gives:                                                                                     *)
(*  - none: every racer that read before the first record fires;                                                      *)
(*  - compare-and-swap, no lease: one effect, and nobody ever gets past an owner that died with the claim;            *)
(*  - with a lease: a dead owner's claim is taken over and the run completes. What a lease cannot give is             *)
(*    exactly-once: nothing in the store tells an owner that died right before its effect from one that died right    *)
(*    after it, so the next owner fires again (EO-b, an in-doubt refire). CO-e leaves these out; that they happen is  *)
(*    reported as EO-b;                                                                                               *)
(*  - a lease that runs out under an owner that is slow, not dead: both fire, and no crash excuses it. That the       *)
(*    record is refused to whoever lost the claim (a fence) saves CO-c and not CO-e: effects are not written through  *)
(*    the store.                                                                                                      *)
(*                                                                                                                    *)
(* Left out: the rest of the workload, and a death between the record and the reply, which changes nothing in the     *)
(* store. Whoever was refused may come again while the question is open, so a racer that lives is also who recovers   *)
(* the run.                                                                                                           *)
EXTENDS Naturals, FiniteSets, Report

CONSTANTS
    K,            \* how many racers
    Claim,        \* what comes before the effect: "cas", a compare-and-swap in the store, or "none"
    Lease,        \* whether the claim of an owner that died can be taken over
    OwnerDeath,   \* whether a racer can die before its effect, with the claim or without it
    Cut,          \* whether a racer can die between its effect and the record of it
    MaxDeaths,    \* less than K, so that somebody is left to complete the run
    MaxExpiries   \* how often a lease runs out although its owner lives

ASSUME /\ Claim \in {"none", "cas"} /\ {Lease, OwnerDeath, Cut} \subseteq BOOLEAN
       /\ MaxDeaths < K
       /\ Lease \/ MaxExpiries = 0

VARIABLES
    at,        \* where each racer is: "ready", "read", "claimed", "fired", then "told" that its answer was consumed
               \* or "refused", or "dead"; "cut" is dead with its effect in doubt
    owner,     \* who holds the claim in the store, 0 for nobody
    consumed,  \* whether the store says that the question was answered
    effects,   \* how often the gate's effect has fired
    refires,   \* how many of these fired again an effect that a death had left in doubt
    expiries   \* leases that ran out early so far

vars == <<at, owner, consumed, effects, refires, expiries>>

Racers == 1..K
In(stages) == {p \in Racers : at[p] \in stages}
Deaths == Cardinality(In({"dead", "cut"}))
To(p, stage) == at' = [at EXCEPT ![p] = stage]

Init ==
    /\ at = [p \in Racers |-> "ready"]
    /\ owner = 0 /\ consumed = FALSE
    /\ effects = 0 /\ refires = 0 /\ expiries = 0

-------------------------------------------------------------------------------
(* What a racer read can be stale by the time it acts on it: that is the whole race.                                  *)
Read(p) ==
    /\ at[p] = "ready"
    /\ To(p, IF consumed THEN "refused" ELSE "read")
    /\ UNCHANGED <<owner, consumed, effects, refires, expiries>>

(* The compare-and-swap: looking at the claim and taking it is one step of the store.                                 *)
Free == ~consumed /\ (owner = 0 \/ (Lease /\ owner \in In({"dead", "cut"})))
Take(p) ==
    /\ Claim = "cas" /\ at[p] = "read"
    /\ IF Free THEN owner' = p /\ To(p, "claimed") ELSE owner' = owner /\ To(p, "refused")
    /\ UNCHANGED <<consumed, effects, refires, expiries>>

(* Each death in doubt excuses one more effect, no matter who fires it.                                               *)
Fire(p) ==
    /\ at[p] = IF Claim = "cas" THEN "claimed" ELSE "read"
    /\ To(p, "fired")
    /\ effects' = effects + 1
    /\ refires' = IF Cardinality(In({"cut"})) > refires THEN refires + 1 ELSE refires
    /\ UNCHANGED <<owner, consumed, expiries>>

(* The record, and the reply that follows from it. Who claims must still hold the claim.                              *)
Tell(p) ==
    /\ at[p] = "fired"
    /\ IF Claim = "none" \/ owner = p
       THEN consumed' = TRUE /\ To(p, "told")
       ELSE consumed' = consumed /\ To(p, "refused")
    /\ UNCHANGED <<owner, effects, refires, expiries>>

(* A refusal ends the command, not the wish to see the run complete.                                                  *)
Again(p) ==
    /\ at[p] = "refused" /\ ~consumed
    /\ To(p, "ready")
    /\ UNCHANGED <<owner, consumed, effects, refires, expiries>>

(* The clock says that the owner is gone, and it is not.                                                              *)
Expire(p) ==
    /\ Lease /\ expiries < MaxExpiries
    /\ at[p] = "read" /\ owner \in In({"claimed", "fired"})
    /\ owner' = p /\ expiries' = expiries + 1
    /\ To(p, "claimed")
    /\ UNCHANGED <<consumed, effects, refires>>

(* Nobody else learns of it but through the lease.                                                                    *)
Die(p) ==
    /\ Deaths < MaxDeaths
    /\ \/ OwnerDeath /\ at[p] \in {"ready", "read", "claimed"} /\ To(p, "dead")
       \/ Cut /\ at[p] = "fired" /\ To(p, "cut")
    /\ UNCHANGED <<owner, consumed, effects, refires, expiries>>

Act(p) == Read(p) \/ Take(p) \/ Fire(p) \/ Tell(p) \/ Again(p)
Next == \E p \in Racers : Act(p) \/ Expire(p) \/ Die(p)

(* Fairness is to each racer: one that keeps coming back must not keep the owner from its next step.                  *)
Fair == Init /\ [][Next]_vars /\ \A p \in Racers : WF_vars(Act(p))
Completes == <>consumed

-------------------------------------------------------------------------------
COe == effects - refires <= 1
COc == Cardinality(In({"told"})) <= 1
EOb == refires = 0

Reported == Report("CO-e" :> COe @@ "CO-c" :> COc @@ "EO-b" :> EOb)
===============================================================================
