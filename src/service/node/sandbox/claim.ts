/**
 * Which process runs a sandbox, and how it stands: said in a file in its folder, for other processes over the same
 * folder, so that none begins a command twice.
 */

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../event/json.ts'
import type { SandboxState } from '../../control-plane/sandbox-provider.ts'

interface Claim {
  readonly pid: number
  /** When that began, where the system shows it: another process may have its number by now. */
  readonly began: string | null
  readonly state: SandboxState
}

const fileIn = (directory: string): string => join(directory, 'sandbox.json')

/** Claims a sandbox for this process; false where another one that lives has it. */
export function claim(directory: string, state: SandboxState): boolean {
  if (stateElsewhere(directory) !== null) return false
  try {
    mkdirSync(directory, { recursive: true })
  } catch {
    // What is run all the same says why it fails.
  }
  tell(directory, state)
  return true
}

/** Says how one that this process has claimed stands. */
export function tell(directory: string, state: SandboxState): void {
  try {
    const claim: Claim = { pid: process.pid, began: beganAt(process.pid), state }
    const fresh = `${fileIn(directory)}.${process.pid}`
    // What its server asks for is not for other users of the machine.
    writeFileSync(fresh, JSON.stringify(claim), { mode: 0o600 })
    renameSync(fresh, fileIn(directory))
  } catch {
    // The disk is full, or the folder is gone: others know less, and that is all.
  }
}

export const release = (directory: string): void => rmSync(fileIn(directory), { force: true })

/** How a sandbox stands that another process runs, which lives; null where none does. */
export function stateElsewhere(directory: string): SandboxState | null {
  const claim = readClaim(directory)
  if (claim === null || claim.pid === process.pid) return null
  return beganAt(claim.pid) === claim.began && isAlive(claim.pid) ? claim.state : null
}

function readClaim(directory: string): Claim | null {
  try {
    const claim: unknown = JSON.parse(readFileSync(fileIn(directory), 'utf8'))
    return isObject(claim) && isObject(claim['state']) ? (claim as unknown as Claim) : null
  } catch {
    // There is none, or none that can be read.
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** In ticks of the system's clock. */
function beganAt(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name stands in parentheses and may hold anything; the time stands 19 fields behind the state.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
