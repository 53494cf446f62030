--------------------------------- MODULE Graph ---------------------------------
(* Prints the plane's graph, node by node, for the comparison with the one of `fuzzresume.contract.reference`.              *)
EXTENDS Plane, TLC

(* The fields in which a record differs from another, so that an edge is printed as what it changes. *)
Changed(old, new) == {<<field, new[field]>> : field \in {f \in DOMAIN new : new[f] # old[f]}}
Rest(s) == [field \in DOMAIN s \ {"trunk", "fork"} |-> s[field]]

Edge(t) ==
    <<t.expect.kind, t.expect.effects, t.expect.pending, t.expect.marks, t.expect.reentered, t.expect.frontier,
      t.expect.twin, t.expect.fresh, t.note,
      Changed(state.trunk, t.state.trunk), Changed(state.fork, t.state.fork), Changed(Rest(state), Rest(t.state))>>

(* Always true: says where a run can stand, and everything that each command that makes sense there may show and lead to.   *)
Printed == PrintT(<<asks, faults, state, spent, {<<c, {Edge(t) : t \in Admitted(state, c)}>> : c \in Menu}>>)
================================================================================
