/** Gemini replies with thoughts, texts, calls and other parts, signed or not. */

import * as fc from 'fast-check'
import { collectGoogle, fromGoogle } from '../../src/messages/google/read.ts'
import type { GoogleRequest } from '../../src/messages/google/rules.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { NO_SIGNATURE } from '../../src/messages/reply-parts.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

interface Part {
  readonly text?: string
  readonly thought?: true
  readonly thoughtSignature?: string
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: object }
  readonly [kind: string]: unknown
}

interface Raw {
  readonly responseId: string
  readonly modelVersion: string
  readonly candidates: readonly [
    { readonly content: { readonly parts: readonly Part[] }; readonly finishReason: string },
  ]
  readonly usageMetadata: object
}

const signature = fc
  .option(fc.nat(999), { nil: null })
  .map((n) => (n === null ? {} : { thoughtSignature: `sig/${n}+==` }))

const outputs: fc.Arbitrary<readonly Part[]> = fc.oneof(
  fc.tuple(replyTexts(), signature).map(([text, signed]): Part[] => [{ text, ...signed }]),
  fc.tuple(replyTexts(), signature).map(([text, signed]): Part[] => [{ text, thought: true, ...signed }]),
  fc.nat(999).map((n): Part[] => [{ text: '', thoughtSignature: `end/${n}` }]),
  fc.tuple(replyTexts(), fc.boolean(), signature).map(([code, isNamed, signed]): Part[] => {
    const id = isNamed ? { id: `code-${code.length}` } : {}
    return [
      { executableCode: { language: 'PYTHON', code, ...id }, ...signed },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: code, ...id } },
    ]
  }),
  fc
    .tuple(fc.constantFrom('aW1n', 'aW1nIQ=='), signature)
    .map(([data, signed]): Part[] => [{ inlineData: { mimeType: 'image/png', data }, ...signed }]),
  inputs().map((args): Part[] => [
    { toolCall: { id: 'tool-1', toolType: 'GOOGLE_SEARCH_WEB', args } },
    { toolResponse: { id: 'tool-1', toolType: 'GOOGLE_SEARCH_WEB', response: args } },
  ]),
)

const reply: fc.Arbitrary<Raw> = fc
  .record({
    groups: fc.array(outputs, { maxLength: 5 }),
    calls: fc.array(fc.tuple(toolNames(), fc.option(inputs()), signature), { maxLength: 3 }),
    isNamed: fc.boolean(),
    stop: fc.constantFrom('STOP', 'STOP', 'MAX_TOKENS', 'SAFETY'),
    tokens: fc.nat(5000),
  })
  .map(({ groups, calls, isNamed, stop, tokens }) => ({
    responseId: 'reply-1',
    modelVersion: 'gemini',
    candidates: [
      {
        index: 0,
        content: {
          role: 'model',
          parts: apart([
            ...onePairEach(groups),
            ...calls.map(([name, args, signed], index): Part => ({
              functionCall: {
                ...(isNamed ? { id: `call-${index}` } : {}),
                name,
                ...(args === null ? {} : { args }),
              },
              ...signed,
            })),
          ]),
        },
        finishReason: stop,
      },
    ],
    usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 7 },
  }))

/** Removes pairs with a duplicate id. */
function onePairEach(groups: readonly (readonly Part[])[]): Part[] {
  const seen = new Set<string>()
  return groups.flatMap((parts) => {
    const { executableCode, toolCall } = parts[0] ?? {}
    const { id } = (executableCode ?? toolCall ?? {}) as { readonly id?: string }
    const key = `${executableCode === undefined} ${id}`
    if (id !== undefined && seen.has(key)) return []
    seen.add(key)
    return parts
  })
}

/** Adjacent unsigned texts of one kind arrive as one. */
const apart = (parts: readonly Part[]): Part[] =>
  parts.filter((part, index) => !isPlain(part) || index === 0 || !isLike(part, parts[index - 1]))

const isPlain = (part: Part): boolean => part.text !== undefined && part.thoughtSignature === undefined

const isLike = (part: Part, before: Part | undefined): boolean =>
  before !== undefined && isPlain(before) && before.thought === part.thought

const partsOf = ({ candidates: [{ content }] }: Raw): readonly Part[] =>
  content.parts.filter((part) => part.text !== '' || part.thoughtSignature !== undefined)

const isSigned = ({ thoughtSignature }: Part): boolean => thoughtSignature !== undefined

/** The first call needs a signature; blank text is kept only under one. */
function sentPart(part: Part, isBound: boolean, isFirstCall: boolean): Part[] {
  if (isFirstCall) return [{ thoughtSignature: NO_SIGNATURE, ...part }]
  return isBlank(part) && !isBound ? [] : [part]
}

const isBlank = ({ text, thought }: Part): boolean =>
  text !== undefined && thought !== true && isWhitespace(text)

/** Splits some calls whose arguments are primitive. */
function callChunks(part: Part, cut: () => number): Part[] {
  const { functionCall: { args = {}, ...call } = { name: '' }, ...beside } = part
  const values = Object.entries(args)
  const isPieced =
    cut() > 3 && values.length > 0 && values.every(([, value]) => typeof value !== 'object' || value === null)
  if (!isPieced) return [part]
  const partials = values.flatMap(([key, value]) => {
    const jsonPath = `$['${JSON.stringify(key).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}']`
    if (typeof value !== 'string') return [{ jsonPath, ...typed(value) }]
    const texts = value === '' ? [''] : pieces(value, cut)
    return texts.map((stringValue) => ({ jsonPath, stringValue, willContinue: true }))
  })
  return [
    { functionCall: { ...call, willContinue: true } as never, ...beside },
    ...partials.map((piece): Part => ({
      functionCall: { partialArgs: [piece], willContinue: true } as never,
    })),
    { functionCall: {} as never },
  ]
}

const typed = (value: unknown): object => {
  if (value === null) return { nullValue: 'NULL_VALUE' }
  return typeof value === 'number' ? { numberValue: value } : { boolValue: value }
}

function chunks(part: Part, cut: () => number): Part[] {
  if (part.functionCall !== undefined) return callChunks(part, cut)
  if (!isPlain(part) || part.text === '') return [part]
  return pieces(part.text ?? '', cut).map((text) => ({ ...part, text }))
}

export const GOOGLE: ReplyWire<Raw> = {
  reply,
  read: fromGoogle,
  collect: collectGoogle,
  write: (messages) => toGoogle(messages),
  replyIn: (request) => (request as GoogleRequest).contents.find(({ role }) => role === 'model')?.parts ?? [],
  expected: (raw) => {
    const parts = partsOf(raw)
    if (parts.every(isBlank)) return []
    const bound = parts.findLastIndex(isSigned) + 1
    const first = parts.findIndex(({ functionCall }) => functionCall !== undefined)
    return parts.flatMap((part, index) => sentPart(part, index < bound, index === first))
  },
  stream: (raw, cut) => {
    const [{ content, ...candidate }] = raw.candidates
    const { usageMetadata, ...about } = raw
    const chunk = (part: Part): object => ({
      ...about,
      candidates: [{ content: { role: 'model', parts: [part] } }],
    })
    return [
      ...content.parts.flatMap((part) => chunks(part, cut)).map(chunk),
      { ...about, usageMetadata, candidates: [candidate] },
    ]
  },
  ends: 1,
  text: (raw) =>
    partsOf(raw)
      .map(({ text, thought }) => (thought === true ? '' : (text ?? '')))
      .join(''),
  garble: (raw, values, nat) => {
    const [{ content, ...candidate }] = raw.candidates
    const parts = content.parts.toSpliced(nat % (content.parts.length + 1), 0, ...(values as Part[]))
    return { ...raw, candidates: [{ ...candidate, content: { parts } }, values[0]] }
  },
  allowed: () => [],
  occurred: (raw) => {
    const parts = partsOf(raw)
    const first = parts.findIndex(({ text, thought }) => text !== undefined && thought !== true)
    return [
      parts.some(({ functionCall }) => functionCall !== undefined) ? 'calls' : 'words_only',
      ...(parts.some(isSigned) ? (['signed'] as const) : []),
      ...(parts.some(({ toolCall }) => toolCall !== undefined) ? (['server_tools'] as const) : []),
      ...(first >= 0 && parts.slice(first).some(({ thought }) => thought === true)
        ? (['thinking_between_texts'] as const)
        : []),
    ]
  },
  occurs: ['calls', 'words_only', 'signed', 'thinking_between_texts', 'server_tools'],
}
