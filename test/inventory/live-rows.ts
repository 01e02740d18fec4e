/** Rows of groups Q and S of the inventory: the execution of batches, and persistence. */

import { AGENT, type Row } from './case.ts'

// prettier-ignore
export const LIVE_ROWS: readonly Row[] = [
  ['Q1', 'same', 'run', 'of the calls of a reply those up to the finish are executed'],
  ['Q2', 'same', 'run', 'a blocked call is answered with its reason, the others are executed'],
  ['Q3', 'same', 'run', 'what comes behind the finish is left out before anything is blocked'],
  ['Q4', 'different', 'run', 'all blocked, the executor gets an empty list', 'the step is called with calls to execute, or to ask the model; here it is the model (law P8)'],
  ['Q5', 'different', 'run', 'answers stand in the order of their calls', 'they stand as the step yields them; U9: the view has its own order'],
  ['Q6', 'same', 'run', 'a blocked finish does not finish'],
  ['Q7', 'not ours', 'a critic that wants more adds one message', AGENT],
  ['Q8', 'same', 'run', 'a call of an unknown tool is recorded and answered with an error'],
  ['Q9', 'different', 'run', 'a tool that throws is answered with an error, and the run goes on', 'the step answers for its tools; what the step itself throws ends the run in error (law I1)'],

  ['S1', 'different', 'live', 'what is kept of the state has no events', 'D7: nothing is kept of the state; it is what the log says'],
  ['S2', 'different', 'live', 'one file for each event, and the same state when read', 'one row for each event (law S1)'],
  ['S3', 'same', 'files', 'a file of another name is ignored'],
  ['S4', 'different', 'files', 'a corrupt file is an error when it is reached', 'D16: it is quarantined in its place'],
  ['S5', 'not ours', 'a first start adds the system prompt once', AGENT],
  ['S6', 'different', 'files', 'events without a kept state are ignored', 'D7: the log is all there is'],
  ['S7', 'same', 'live', 'status, policy and activated skills survive'],
  ['S8', 'different', 'live', 'a kept state with another id is an error', 'a conversation is opened by its id, and an unknown one is an error (interface section 7)'],
  ['S9', 'not ours', 'another agent, or other tools, on the way', AGENT],
  ['S10', 'different', 'live', 'several changes are saved at once', 'a batch of events is appended whole or not at all (law S5)'],
  ['S11', 'different', 'live', 'a callback for each field of the state but HEAD', 'D7: every change is an event, HEAD included, and subscribers see events'],
  ['S12', 'not ours', 'who holds the lock of the state', 'a matter of threads: here the version of the log decides'],
  ['S13', 'different', 'live', 'found running, the first open call is answered', 'recover() answers every open call of the branch (law P10)'],
]
