/** Faults in src/steps/ and in how runs condense. */

import type { Fault } from './fault.ts'

export const STEPS_FAULTS: readonly Fault[] = [
  {
    name: 'a ready step does not say what its reply stood behind',
    file: 'steps/step-of.ts',
    find: '{ request, tools: names }',
    replace: '{ tools: names }',
  },
  {
    name: 'a ready step takes every tool to be known',
    file: 'steps/step-of.ts',
    find: '{ request, tools: names }',
    replace: '{ request }',
  },
  {
    name: 'a ready step asks with calls to execute',
    file: 'steps/step-of.ts',
    find: 'if (approved.length > 0) return',
    replace: 'if (approved.length > 1) return',
  },
  {
    name: 'every tool of a ready step is repeated',
    file: 'steps/step-of.ts',
    find: '?.repeatable === true',
    replace: '!== undefined',
  },
]
