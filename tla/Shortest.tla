------------------------------- MODULE Shortest -------------------------------
(* How short a run can give a switch away: the shortest word of commands, and of what each showed, that the switch admits *)
(* and the contract refuses. Beside the plane under its faults go the worlds, under no faults, that would explain the     *)
(* same; when none is left, what was seen is a violation. A planted crash is part of its command and is no event more.    *)
(*                                                                                                                        *)
(* These are lengths of runs in which the mechanism strikes at once and in the plainest way. Under no faults no word may  *)
(* be refused: the plane under {} is explored to its end as a check of this module.                                       *)
(*                                                                                                                        *)
(* Left out: replies that show a token which they must not, because the plane says only that they must not. A word that   *)
(* rests on such a reply may be shorter still.                                                                            *)
EXTENDS Plane, TLC

Legal == INSTANCE Reference WITH faults <- {}

VARIABLES
    policy, \* the binding choices that the run rests on, which a target cannot take back
    worlds  \* the worlds of the contract that explain the run so far

SeenAs(e) ==
    [field \in DOMAIN e \cup {"shown"} |->
        CASE field = "shown" -> {} [] field = "fresh" -> NoToken [] OTHER -> e[field]]

Watch(onward, transition) ==
    /\ Fits(policy, transition.note)
    /\ policy' = Grown(policy, transition.note)
    /\ worlds' = Left(onward, SeenAs(transition.expect))

ASSUME TLCSet(1, {})

WatchedInit ==
    /\ Init
    /\ policy = {}
    /\ worlds = {[state |-> Unstarted, policy |-> {}]}

(* A fault set that has its word is done with: only runs that are shorter go on. In an action TLC counts the level from   *)
(* one, so that it is the length of the run which the action makes.                                                       *)
WatchedNext ==
    /\ \A found \in TLCGet(1) : found[1] = faults => TLCGet("level") <= found[2]
    /\ \E c \in Menu :
          LET onward == Legal!Onward(worlds, c)
          IN  \E transition \in Admitted(state, c) : Watch(onward, transition) /\ Send(c, transition)

WatchedSpec == WatchedInit /\ [][WatchedNext]_<<vars, policy, worlds>>

(* Always true: prints the length of each fault set's shortest word. Needs one worker, which searches breadth first.      *)
Reported ==
    \/ worlds # {} \/ \E found \in TLCGet(1) : found[1] = faults
    \/ (/\ TLCSet(1, TLCGet(1) \cup {<<faults, TLCGet("level")>>})
        /\ PrintT(<<"shortest", faults, TLCGet("level")>>))
===============================================================================
