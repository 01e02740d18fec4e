/** What all operations on the files of sandboxes share. */

import { HttpProblem } from '../http/problem.ts'
import type { SandboxFiles } from './contract.ts'

/** Most bytes of a file that is sent or taken. */
export const MOST_BYTES = 2 ** 26

/** What they may refuse. */
export const REFUSED = {
  400: { description: 'The path is none, or not of this kind' },
  403: { description: 'The path leads out of the sandboxes, or no files of theirs are given out' },
  404: { description: 'There is no such file or folder' },
} as const

/** @throws HttpProblem 403 where none are given out. */
export function required(files: SandboxFiles | null): SandboxFiles {
  if (files !== null) return files
  throw new HttpProblem(403, 'This service gives out no files of sandboxes, and runs no commands in them.')
}
