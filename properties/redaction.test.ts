/** X5 to X9: redaction removes secrets and nothing else. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { type RedactionRules, redactionRules } from '../src/context/redaction/rules.ts'
import { loadLine } from '../src/event/load.ts'
import { anyEvent, hostileLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from './checks/messages.ts'
import {
  checkHidden,
  checkMaskStays,
  checkRedacted,
  checkRedactedLog,
  checkSecretGone,
  redacted,
} from './checks/redaction.ts'
import { checkRedactedParts } from './checks/redacted-parts.ts'
import { hold } from '../src/testing/failure.ts'
import { GREEDY } from './greedy-rules.ts'
import { eventWith, hiddenSecret } from './hidden-secrets.ts'
import { always, alwaysOnLegal, COSTLY_RUNS } from './run.ts'
import { Tally } from './tally.ts'

const greedy = () => fc.nat(GREEDY.length - 1)
const rulesAt = (index: number) => GREEDY[index] as RedactionRules

/** Escaped only once in its line. */
const eventInLine = (text: string) => eventWith(text).filter(({ kind }) => kind !== 'LLMCompletionLogEvent')

describe('X, redaction', () => {
  it('X5, X6 and X8: a redacted event is a valid event, and redacting it again changes nothing', () => {
    always(fc.tuple(anyEvent(), greedy()), ([event, index]) => checkRedacted(event, rulesAt(index)))
  })

  it('X5: masks are not redacted', checkMaskStays)

  it('X6: a secret in any part of a reply leaves only the kinds of its recorded parts', checkRedactedParts)

  it('X5 to X8: a secret is found in every encoding and at every position', () => {
    const tally = new Tally<string>()
    const planted = hiddenSecret().chain((hidden) =>
      fc.tuple(fc.constant(hidden), eventWith(hidden.text, hidden.equalKeys), fc.boolean()),
    )
    always(planted, ([hidden, event, keyed]) => {
      tally.count([hidden.encoding, ...hidden.frames, `${hidden.frames.length} around`])
      checkHidden(hidden, event, keyed)
    })
    tally.require([
      'plain',
      'escaped',
      'percented',
      'encoded',
      'form',
      'cut',
      'in JSON',
      'base64',
      'basic',
      'url',
      'wrapped',
      'prose',
      'key',
      '0 around',
      '3 around',
    ])
  })

  it('X7: a secret is found in lines that are not events', () => {
    // Only the line's own encoding is decoded in a truncated line.
    const inLine = hiddenSecret().filter(
      ({ encoding, frames }) => encoding === 'plain' && frames.length === 0,
    )
    const broken = inLine.chain((hidden) =>
      fc.tuple(fc.constant(hidden), eventInLine(hidden.text), fc.nat(2)).map(([{ secret }, event, how]) => {
        const text = JSON.stringify({ ...event, future: how })
        return { secret, line: how === 0 ? text.slice(0, -1) : how === 1 ? `x${text}` : text }
      }),
    )
    always(broken, ({ secret, line }) => {
      const { fact } = loadLine(line)
      checkSecretGone(fact, secret, redactionRules({ secrets: [secret] }))
    })
  })

  it('X9: a redacted log keeps tree, pairing, views and status, and its requests are valid', () => {
    const tally = new Tally<Situation>()
    always(
      fc.tuple(hostileLog(), greedy()),
      ([facts, index]) => {
        tally.count(situationsOf(facts))
        const after = checkRedactedLog(facts, rulesAt(index))
        for (const judge of [checkGrammars, checkThinking, checkNeutral, checkWords]) judge(after)
      },
      COSTLY_RUNS,
    )
    tally.require(['absent_id', 'open_batch', 'signed_thinking', 'redacted_thinking', 'reused_call_id'])
  })

  it('X8: redacting a legal log without secrets returns the same object', () => {
    const rules = redactionRules({ secrets: ['nobody would write this'], builtIn: true, fields: [] })
    alwaysOnLegal((facts) => {
      hold('X8', redacted(facts, rules) === facts, 'a copy of a log without secrets')
    })
  })
})
