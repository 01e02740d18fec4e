/** K6 to K8: transformations of messages before they are sent. */

import { isImagePart, isOpenPart, type Content } from '../../src/event/shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { cacheBreakpoints } from '../../src/context/cache-breakpoints.ts'
import { estimateTokens } from '../../src/context/estimate.ts'
import { type MaskingOptions, observationMasking } from '../../src/context/masking.ts'
import { stablePrefix } from '../../src/context/explain-prefix.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { branchOf } from '../../src/state/state.ts'
import { replay } from '../../src/state/reduce.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { changesInside } from './grows.ts'
import { branchesOf, GRAMMARS } from './messages.ts'

/** K6: between condensations, sent messages stay the same, except that the last user message may grow. */
export function checkStable(facts: readonly Fact[]): void {
  const state = replay(facts)
  for (const { event, canBeHead, parent, ...entry } of state.log.entries) {
    if (!canBeHead || event?.kind === 'Condensation' || event?.kind === 'SystemPromptEvent') continue
    const before = { ...state, branch: branchOf(parent) }
    const after = { ...state, branch: entry.branch }
    if (changesInside(before.branch.view.units, after.branch.view.units)) continue
    const [was, is] = [toMessages(before), toMessages(after)]
    const stable = total('K6', 'stablePrefix', () => stablePrefix(was, is))
    const grows = was.at(-1)?.role === 'user'
    hold(
      'K6',
      stable >= was.length - (grows ? 1 : 0),
      `only ${stable} of ${was.length} messages at ${entry.seq} are stable`,
    )
    same('K6', 'the stable messages', is.slice(0, stable), was.slice(0, stable))
    same(
      'K6',
      'the length of the stable prefix of equal lists',
      stablePrefix(is, toMessages(after)),
      is.length,
    )
  }
}

export type Masked = 'masked' | 'waited' | 'masked_again' | 'kept_the_latest'

const MASKS: readonly (MaskingOptions & { readonly keepLast: number; readonly stride: number })[] = [
  { keepLast: 0, stride: 0, placeholder: '' },
  { keepLast: 2, stride: 1, placeholder: '-' },
  { keepLast: 1, stride: 6, placeholder: '-' },
  { keepLast: 0, stride: 16, placeholder: '' },
  { keepLast: 1, stride: 1 },
]

/** K7: masking keeps calls answered, masks only old results, and saves at least a stride. */
export function checkMasked(facts: readonly Fact[], met: (happened: Masked) => void = () => undefined): void {
  const judged = new Set<string>()
  for (const state of branchesOf(facts).slice(0, 3)) {
    const messages = toMessages(state)
    const text = JSON.stringify(messages)
    for (const options of MASKS) {
      const mask = observationMasking(options)
      const masked = total('K7', 'masking', () => mask(messages))
      same('K7', 'the input after masking', messages, text)
      same('K7', 'messages masked twice', mask(masked), masked)
      same('K7', 'messages without results', masked.map(withoutResult), messages.map(withoutResult))
      const stored = Math.min(options.keepLast, results(messages).length)
      same(
        'K7',
        'the last results',
        results(masked).slice(-stored || Infinity),
        results(messages).slice(-stored || Infinity),
      )
      if (stored > 0) met('kept_the_latest')
      checkStrides(messages, options, met)
      const request = JSON.stringify(masked)
      // Other laws cover unmasked messages.
      if (request === text || judged.has(request)) continue
      judged.add(request)
      for (const { name, write, judge } of GRAMMARS) {
        const [violation] = judge(total('K7', name, () => write(masked)))
        hold('K7', violation === undefined, () => `${name}, masked: ${JSON.stringify(violation)}`)
      }
    }
  }
}

/** K7: masked results stay masked, and less than a stride remains. */
function checkStrides(
  messages: readonly NeutralMessage[],
  options: (typeof MASKS)[number],
  met: (happened: Masked) => void,
): void {
  const { keepLast, stride } = options
  const mask = observationMasking(options)
  const limit = observationMasking({ ...options, keepLast: 0, stride: 0 })
  /** Tokens saved by masking a result. */
  const saves = (index: number): number => {
    const whole = messages.slice(index, index + 1)
    return estimateTokens(whole) - estimateTokens(limit(whole))
  }
  const places = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []))
  const all = messages.map((_, index) => (messages[index]?.role === 'tool' ? saves(index) : 0))
  const sum = (index: readonly number[]): number =>
    index.reduce((before, position) => before + (all[position] ?? 0), 0)
  let before: readonly number[] = []
  let changes = 0
  for (let length = 1; length <= messages.length; length += 1) {
    const masked = mask(messages.slice(0, length))
    const now = places.filter((index) => index < length && masked[index] !== messages[index])
    same('K7', 'earlier masked messages', now.slice(0, before.length), before)
    if (now.length > before.length) {
      changes += 1
      const saved = sum(now.slice(before.length))
      hold('K7', saved >= stride, `earlier messages changed to save ${saved} tokens, stride ${stride}`)
      met(changes > 1 ? 'masked_again' : 'masked')
    }
    const old = places.filter((index) => index < length).slice(0, -keepLast || undefined)
    const waits = old.filter((index) => (all[index] ?? 0) > 0 && !now.includes(index))
    hold(
      'K7',
      waits.length === 0 || sum(waits) < stride,
      `${sum(waits)} tokens are unmasked, stride ${stride}`,
    )
    if (waits.length > 0) met('waited')
    before = now
  }
  for (const [index, message] of mask(messages).entries()) {
    const [is, was] = [message, messages[index] as NeutralMessage].map((one) => estimateTokens([one]))
    hold('K7', message === messages[index] || (is ?? 0) < (was ?? 0), `masking result ${index} saves nothing`)
  }
  const tokens = estimateTokens(messages)
  hold('K7', changes * stride <= tokens, `${changes} changes in ${tokens} tokens, stride ${stride}`)
}

const results = (messages: readonly NeutralMessage[]): NeutralMessage[] =>
  messages.filter((message) => message.role === 'tool')

const withoutResult = (message: NeutralMessage): object =>
  message.role === 'tool' ? { ...message, content: [] } : message

/** K8: at most four cache marks, only where Anthropic allows them, one at the end. */
export function checkMarks(facts: readonly Fact[]): void {
  for (const state of branchesOf(facts).slice(0, 3)) {
    const messages = toMessages(state)
    if (messages.length === 0) continue
    const { judge } = GRAMMARS.find(({ name }) => name === 'Anthropic') as (typeof GRAMMARS)[number]
    for (const stable of [0, messages.length >> 1, messages.length]) {
      const marked = total('K8', 'cacheBreakpoints', () => cacheBreakpoints(messages, stable))
      same('K8', 'messages without marks', unmarked(marked), unmarked(messages))
      same('K8', 'marks of a marked list', cacheBreakpoints(marked, stable), marked)
      same(
        'K8',
        'the length of the stable prefix with marks',
        stablePrefix(messages, marked),
        messages.length,
      )
      const request = total('K8', 'toAnthropic', () => toAnthropic(marked))
      const [violation] = judge(request)
      hold('K8', violation === undefined, () => `with marks: ${JSON.stringify(violation)}`)
      same('K8', 'the request without marks', withoutControl(request), withoutControl(toAnthropic(messages)))
      const count = JSON.stringify(request).split('"cache_control":{"type":"ephemeral"').length - 1
      const marks = JSON.stringify(marked).split('"cache_prompt":true').length - 1
      hold('K8', count <= 4 && marks <= 4, `more than 4 breakpoints (${count}) or marks (${marks})`)
      const says = messages.some(({ content }) => content.some(isSent))
      hold('K8', marks > 0 || !says, 'no cache breakpoint')
    }
  }
}

const isSent = (part: Content): boolean =>
  isImagePart(part) ? part.image_urls.length > 0 : isOpenPart(part) || /[\p{L}\p{N}]/u.test(part.text)

const unmarked = (messages: readonly NeutralMessage[]): string =>
  JSON.stringify(messages, (key, value: unknown) => (key === 'cache_prompt' ? undefined : value))

const withoutControl = (request: object): string =>
  JSON.stringify(request, (key, value: unknown) => (key === 'cache_control' ? undefined : value))
