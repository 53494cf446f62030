-------------------------------- MODULE Replay --------------------------------
(* Which recorded traces the reference admits, under which fault sets. All traces of a batch form a forest of prefixes: a   *)
(* reachable pair of a node and a fault set means that this prefix is admissible under those faults.                        *)
(* The module Traces is generated for each batch. It defines                                                                *)
(*   FaultSets  the fault sets to try                                                                                       *)
(*   Events     every distinct pair of a command and what was seen of it                                                    *)
(*   Children   for each node, its pairs <<event, child>>                                                                   *)
(*   Roots      the pairs <<shape, node>>: where traces of a workload of that shape begin                                   *)
EXTENDS Reference, Traces, TLC

VARIABLES
    node,   \* the prefix read so far
    worlds  \* every state, with the binding choices it rests on, that explains it; never empty

vars == <<asks, faults, node, worlds>>

Init ==
    /\ \E root \in Roots : asks = root[1] /\ node = root[2]
    /\ faults \in FaultSets
    /\ worlds = {[state |-> Unstarted, policy |-> {}]}

Read(event, child) ==
    /\ worlds' = Advance(worlds, event.command, event.seen)
    /\ worlds' # {}
    /\ node' = child
    /\ UNCHANGED <<asks, faults>>

Next == \E step \in Children[node] : Read(Events[step[1]], step[2])

Spec == Init /\ [][Next]_vars

(* Always true: says that the node was reached. *)
Reached == PrintT(<<node, faults>>)
===============================================================================
