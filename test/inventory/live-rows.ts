/** Rows of groups Q and S of the inventory: the execution of batches, and persistence. */

import { AGENT, type Row } from './case.ts'

// prettier-ignore
export const LIVE_ROWS: readonly Row[] = [
  ['Q1', 'same', 'run', 'the calls of a reply up to the finish call are executed'],
  ['Q2', 'same', 'run', 'a blocked call is answered with its reason, the others are executed'],
  ['Q3', 'same', 'run', 'calls after the finish call are left out before any hook runs'],
  ['Q4', 'different', 'run', 'if every call is blocked, the executor gets an empty list', 'a step either executes calls or requests the model; here it requests the model (law P8)'],
  ['Q5', 'different', 'run', 'answers are in the order of their calls', 'they are in the order in which the step yields them; U9: the view has its own order'],
  ['Q6', 'same', 'run', 'a blocked finish does not finish'],
  ['Q7', 'not ours', 'a critic that requests more work adds one message', AGENT],
  ['Q8', 'same', 'run', 'a call of an unknown tool is recorded and answered with an error'],
  ['Q9', 'different', 'run', 'a call whose tool throws is answered with an error, and the run continues', 'the step handles errors of its tools; an exception of the step itself ends the run in error (law I1)'],

  ['S1', 'different', 'live', 'the stored state contains no events', 'D7: no state is stored; it is computed from the log'],
  ['S2', 'different', 'live', 'each event has a file, and reading them restores the state', 'one row for each event (law S1)'],
  ['S3', 'same', 'files', 'a file with another name is ignored'],
  ['S4', 'different', 'files', 'a corrupt file is an error when it is read', 'D16: it is quarantined at its position'],
  ['S5', 'not ours', 'a first start adds the system prompt once', AGENT],
  ['S6', 'different', 'files', 'events without a stored state are ignored', 'D7: the log is the only record'],
  ['S7', 'same', 'live', 'status, policy and activated skills survive'],
  ['S8', 'different', 'live', 'a stored state with another id is an error', 'a conversation is opened by its id, and an unknown one is an error (interface section 7)'],
  ['S9', 'not ours', 'the agent or its tools change in a conversation', AGENT],
  ['S10', 'different', 'live', 'several changes are saved at once', 'a batch of events is appended whole or not at all (law S5)'],
  ['S11', 'different', 'live', 'a callback for each field of the state but HEAD', 'D7: every change is an event, HEAD included, and subscribers see events'],
  ['S12', 'not ours', 'the owner of the state lock can be read', 'a matter of threads: here the version of the log decides'],
  ['S13', 'different', 'live', 'in a state found running, the first open call is answered', 'recover() answers every open call of the branch (law P10)'],
]
