import { expect } from 'vitest'
import { withStore, readConversation } from './database.ts'
import { colloquy } from './run-command.ts'

export const PAUSE = { id: 'p', kind: 'PauseEvent' }

export interface Report {
  readonly conversation: string
  readonly notes: readonly string[]
  readonly error?: { readonly code: string; readonly message: string }
}

export async function runImport(
  argv: readonly string[],
  stdin = '',
): Promise<{ code: number; err: string; report: Report }> {
  const { code, out, err } = await colloquy(['import', ...argv, '--json'], { stdin })
  expect(out.split('\n')).toHaveLength(2)
  return { code, err, report: JSON.parse(out) }
}

export const storedConversation = (file: string, id: string) =>
  withStore(file, (store) => readConversation(store, id))
