/** Prints the names of the known forms that match a long text completely. */

import { type BuiltInPattern, builtInFinder } from '../../src/context/redaction/known-forms.ts'

// Without optimization, half the length of redact-cost.test.ts overflows the engine's stack.
const [x, y] = ['x'.repeat(2 ** 22), 'y'.repeat(2 ** 22)]

const TEXTS: readonly (readonly [BuiltInPattern, string])[] = [
  ['sk', `sk-1${x}`],
  ['github', `ghp_${x}`],
  ['github', `github_pat_${x}`],
  ['github', `ghs_1_eyJ${x}.${y}`],
  ['slack', `xoxb-${x}`],
  ['google', `ya29.${x}`],
  ['prefix', `hf_${x}`],
  ['prefix', `glpat-${x}.${y}`],
  ['prefix', `ABSKQm${x}`],
  ['jwt', `eyJ${x}.${y}`],
  ['jwt', `eyJ${x}..${y}.z.z`],
  ['bearer', `bearer 1${x}`],
  ['authorization', `authorization: basic ${x}`],
]

for (const [name, text] of TEXTS)
  builtInFinder([name])?.(`. ${text} .`, (start, end) => {
    if (start >= 2 && end === text.length + 2) console.log(name)
  })
