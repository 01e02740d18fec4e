/** Loads the module of a user that says what the service's agent does. */

import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RunOptions, Step } from '../../conversation/index.ts'
import { FileError, fromFileSystem } from '../failure.ts'

/** What a module exports. */
export interface AgentModule {
  readonly step: Step
  /** How conversations are run: a condenser, a policy, hooks. Empty where it exports none. */
  readonly run: Omit<RunOptions, 'signal'>
}

/**
 * Loads a file: a step, under the name `step` or as the default, and perhaps `run`.
 * @throws FileError for one that cannot be read, throws, or exports no step.
 */
export async function loadAgent(file: string): Promise<AgentModule> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(fromFileSystem(error, file)))
  if (found.isDirectory()) throw new FileError('unreadable', 'is a directory, not a module', file)
  let exported: Readonly<Record<string, unknown>>
  try {
    exported = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new FileError('unreadable', `cannot be loaded: ${why.split('\n', 1)[0] ?? ''}`, file)
  }
  const { step = exported['default'], run = {} } = exported
  if (typeof step !== 'function')
    throw new FileError('unreadable', 'exports no step: export const step = …, a function', file)
  if (typeof run !== 'object' || run === null)
    throw new FileError('unreadable', 'exports a run that is no object of options', file)
  return { step: step as Step, run }
}
