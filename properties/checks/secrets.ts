/** X1 to X4: secrets never appear where they must not. */

import { decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine } from '../../src/event/load.ts'
import { maskSecrets } from '../../src/event/mask.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { encodeState } from '../../src/state/read.ts'
import { switchTo } from '../../src/state/at.ts'
import { replay } from '../../src/state/reduce.ts'
import { branchesOf, GRAMMARS } from './messages.ts'
import { hold, same } from '../../src/testing/failure.ts'

const MARK = 'gAAAA-secret-'

/** X1, X3: displayed logs contain no secret. */
export function checkShown(facts: readonly Fact[]): void {
  const state = replay(facts)
  unseen('X3', 'the encoded state', encodeState(state))
  unseen('X3', 'the reports', JSON.stringify(listWarningsIn(state.log)))
  unseen(
    'X3',
    'the message of an error',
    messageOf(() => switchTo(state, 'no such id\n')),
  )
  unseen('X1', 'the masked facts', JSON.stringify(maskSecrets(facts)))
  for (const branch of branchesOf(facts)) {
    const messages = toMessages(branch)
    unseen('X1', 'the masked messages', JSON.stringify(maskSecrets(messages)))
    unseen(
      'X3',
      'an error response',
      messageOf(() => toMessages(branch, { pending: 'refuse' })),
    )
    if (messages.length === 0) continue
    for (const { name, write } of GRAMMARS) {
      unseen('X1', `masked ${name}`, JSON.stringify(maskSecrets(write(messages))))
    }
  }
}

/** X2: masking removes only secrets and does not modify its input. */
export function checkMasking(event: Event): void {
  const text = encodeEvent(event)
  const masked = maskSecrets(event)
  unseen('X2', 'the masked event', encodeEvent(masked))
  same('X2', 'the event after masking', encodeEvent(event), text)
  if (!text.includes('encrypted_content')) hold('X2', masked === event, 'an event without secrets was copied')
  same('X2', 'an event masked twice', maskSecrets(masked), masked)
  same('X2', 'content without the secrets', shape(masked), shape(event))
}

/** Replaces strings by whether they contain a secret. */
const shape = (event: Event): string =>
  JSON.stringify(event, (key, value: unknown) => {
    if (key === 'encrypted_content') return 'out'
    return typeof value === 'string' && value.includes('encrypted_content') ? 'text with a secret' : value
  })

/** X4: issues quote their input without secrets. `broken` was an event with a secret. */
export function checkIssues(broken: unknown): void {
  const decoded = decodeEvent(broken)
  const text = JSON.stringify(broken)
  const lines = [text, text.slice(0, text.lastIndexOf(MARK) + MARK.length + 3)].filter(
    (line) => line !== undefined,
  )
  const results = [decoded, ...lines.map((line) => decodeLine(line))]
  for (const result of results) if (!result.ok) unseen('X4', 'the issues', JSON.stringify(result.issues))
  for (const line of lines) {
    const { fact } = loadLine(line)
    if (!isQuarantined(fact)) continue
    unseen('X4', 'the issues of a quarantined line', JSON.stringify(fact.issues))
    unseen('X1', 'a masked line in quarantine', JSON.stringify(maskSecrets(fact)))
  }
}

function unseen(law: string, where: string, text: string): void {
  hold(
    law,
    !text.includes(MARK),
    () =>
      `${where} contains a secret: …${text.slice(Math.max(0, text.indexOf(MARK) - 200), text.indexOf(MARK) + 40)}`,
  )
}

function messageOf(run: () => unknown): string {
  try {
    run()
    return ''
  } catch (error) {
    return error instanceof Error ? `${error.message} ${JSON.stringify(error)}` : String(error)
  }
}
