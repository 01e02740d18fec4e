/** Faults in src/steps/ and in how runs condense. */

import type { Fault } from './fault.ts'

export const STEPS_FAULTS: readonly Fault[] = [
  {
    name: 'a built-in step does not record the request of its reply',
    file: 'steps/step-of.ts',
    find: '{ request, tools: names }',
    replace: '{ tools: names }',
  },
  {
    name: 'a built-in step accepts calls of unknown tools',
    file: 'steps/step-of.ts',
    find: '{ request, tools: names }',
    replace: '{ request }',
  },
  {
    name: 'a built-in step calls the model with a call left to execute',
    file: 'steps/step-of.ts',
    find: 'if (approved.length > 0) return',
    replace: 'if (approved.length > 1) return',
  },
  {
    name: 'a built-in step repeats calls of every tool',
    file: 'steps/step-of.ts',
    find: '?.repeatable === true',
    replace: '!== undefined',
  },
]
