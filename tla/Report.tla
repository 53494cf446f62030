------------------------------- MODULE Report -------------------------------
(* How deep each property holds. Evaluated in an invariant of every model, so that one exploration tells the shallowest   *)
(* state at which each property is false, where an INVARIANT of the property itself would end at the first one that falls. *)
(* Needs one worker: then TLC's search is breadth first, and the first is the shallowest. The initial state has depth 1     *)
(* here, as in the depth that TLC prints at the end, and level 0 in TLCGet.                                                  *)
EXTENDS Naturals, TLC

ASSUME TLCSet(1, {})

(* `props` maps the name of each property to its truth in the present state. Always TRUE, prints each name at most once,    *)
(* and in initial states which ones there are: a property that is not looked at does not fall either.                      *)
Report(props) ==
    LET new == {p \in DOMAIN props : ~props[p]} \ TLCGet(1)
    IN  /\ TLCGet("level") = 0 => PrintT(<<"checks", DOMAIN props>>)
        /\ new = {} \/ (TLCSet(1, TLCGet(1) \cup new) /\ \A p \in new : PrintT(<<"falls", p, TLCGet("level") + 1>>))
=============================================================================
