/**
 * The code that the writers of all grammars share: it orders turns, computes digests, and moves content out
 * of results. A grammar's writer makes the blocks, and adds the blocks of each role to its request.
 */

import { ColloquyError } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import { type Digest, digestWith, otherDigest } from './digest.ts'
import type { NeutralMessage, Thinking } from './message.ts'
import { NO_ANSWER } from './phrases.ts'
import { type Moved, pieceDigest, textPiece, textPieces } from './pieces.ts'
import type {
  Piece,
  TextPiece,
  FieldRef,
  OtherRef,
  AssistantTurn,
  Call,
  Limits,
  Result,
  Turn,
} from './limits.ts'
import { resultDigest, startProof } from './prefix.ts'
import type { NewMap, Role, WriteOptions, Written } from './prefix.ts'
import { callDigest, textsOfPart, thinkingDigest } from './reply-parts.ts'
import { type TurnReader, turnReader } from './turns.ts'

/** Adds blocks to the last message. Copies a frozen message first, because other requests may share it. */
export function extend<M extends object>(messages: M[], field: keyof M, blocks: readonly object[]): void {
  const last = messages.at(-1) as M
  const list = last[field] as object[]
  if (Object.isFrozen(list)) messages.splice(-1, 1, { ...last, [field]: [...list, ...blocks] })
  else for (const block of blocks) list.push(block)
}

export interface Writer<Block extends object> {
  readonly piece: (piece: Piece) => Block
  readonly reply: (turn: AssistantTurn, keepsSigned: boolean) => readonly Written<Block>[]
  /** Moves content out of tool results into a user message. Default: all content stays in its result. */
  readonly move?: (turn: AssistantTurn) => Moved
  readonly result: (result: Result, turn: AssistantTurn) => Block
  /**
   * Adds one or more blocks to the request; `turn` is null for the system prompt and for content moved out of
   * results.
   */
  readonly add: (role: Role, blocks: Block[], turn: Turn | null) => void
  /** Adds the blocks that belong at the end of the conversation. */
  readonly close?: () => void
  readonly state?: object
}

export interface RequestWriter<Request extends object, Block extends object, M extends object> {
  readonly limits: Limits
  /** Ids of provider tools' calls that cannot be sent. Their results cannot be sent either. */
  readonly refused?: ReadonlySet<string>
  /** Starts a writer, which may change only `messages`, its own `state`, and maps from `newMap`. */
  readonly start: (
    messages: M[],
    newMap: NewMap,
  ) => Writer<Block> & { readonly request: (messages: M[]) => Request }
}

/**
 * Writes messages as a request. Leaves out a reply's signed parts if the model, tools or earlier text
 * changed.
 * @throws `empty_view` if there are no messages.
 */
export function writeRequest<Request extends object, Block extends object, M extends object>(
  writer: RequestWriter<Request, Block, M>,
  messages: readonly NeutralMessage[],
  { cache, ...options }: WriteOptions,
): Request {
  if (messages.length === 0)
    throw new ColloquyError('empty_view', 'The view has no messages. Append one first.')
  return (
    (cache?.write(writer, messages, options) as Request | null | undefined) ??
    startRequest(writer, messages, options).finish(messages)
  )
}

export interface OpenRequest<Request> {
  /** Number of leading system messages, which are already written. */
  readonly lead: number
  readonly reader: TurnReader
  /** The objects whose `state` changes while messages are read: the proof of signed parts, the reader, the writer. */
  readonly parts: readonly { readonly state?: object }[]
  readonly writeTurns: () => void
  /**
   * Reads the messages from `index` on, by default all after the leading system messages, and ends the
   * request.
   */
  readonly finish: (messages: readonly NeutralMessage[], index?: number) => Request
}

/**
 * Starts a request with the leading system messages. If the grammar accepts system messages only at the
 * start, the last system message in `messages` replaces the leading ones.
 */
export function startRequest<Request extends object, Block extends object, M extends object>(
  { limits, start, refused }: RequestWriter<Request, Block, M>,
  messages: readonly NeutralMessage[],
  options: WriteOptions,
  list: M[] = [],
  newMap: NewMap = () => new Map(),
): OpenRequest<Request> {
  const writer = start(list, newMap)
  const proof = startProof(limits, options)
  const reader = turnReader(limits, newMap, refused, options.model)
  const writeBlocks = (role: Role, written: readonly Written<Block>[], turn: Turn | null): void => {
    for (const one of written) proof.add(role, one)
    const blocks = written.map(({ block }) => block)
    if (blocks.length > 0) writer.add(role, blocks, turn)
  }
  const writePieces = (role: Role, pieces: readonly Piece[], turn: Turn | null): void =>
    writeBlocks(
      role,
      pieces.map((piece) => ({ block: writer.piece(piece), digest: () => pieceDigest(piece) })),
      turn,
    )
  const writeTurns = (): void => {
    for (const turn of reader.take()) {
      if (turn.role !== 'assistant') {
        writePieces(turn.role, turn.role === 'user' ? turn.pieces : turn.texts, turn)
        continue
      }
      writeBlocks('assistant', writer.reply(turn, proof.keepsSigned(turn)), turn)
      const { results, pieces } = writer.move?.(turn) ?? { results: turn.results, pieces: [] }
      const written = results.map((result) => ({
        block: writer.result(result, turn),
        digest: () => resultDigest(result),
      }))
      writeBlocks('result', written, turn)
      writePieces('user', pieces, null)
    }
  }
  let lead = 0
  while (messages[lead]?.role === 'system') lead += 1
  const late = limits.appends ? -1 : messages.findLastIndex(({ role }) => role === 'system')
  const prompts = late > lead ? messages.slice(late, late + 1) : messages.slice(0, lead)
  const front = prompts.flatMap(({ content }) => textPieces(content))
  writePieces('front', front, null)
  return {
    lead,
    reader,
    parts: [proof, reader, writer],
    writeTurns,
    finish(all, from = lead) {
      for (let index = from; index < all.length;) index = reader.read(all, index)
      reader.close()
      writeTurns()
      writer.close?.()
      const written = list.slice()
      const request = writer.request(written)
      proof.record(request, written)
      return request
    },
  }
}

/** Adds a fixed sentence after reasoning, for providers that refuse reasoning as the last content. */
export function withAnswer<Block>(
  blocks: readonly Written<Block>[],
  block: (text: string) => Block,
): Written<Block>[] {
  const piece = textPiece(NO_ANSWER)
  return [...blocks, { block: block(piece.text), digest: () => pieceDigest(piece) }]
}

interface ReplyWriter<Block> {
  readonly text: (piece: TextPiece, more: JsonObject | null) => Block | null
  readonly thinking?: (block: Thinking, more: JsonObject | null, ref: FieldRef) => Block | null
  readonly call: (call: Call, more: JsonObject | null, ref: FieldRef) => Block
  readonly other: (value: JsonObject, ref: OtherRef) => JsonObject | null
  readonly more: (ref: FieldRef) => JsonObject | null
}

/**
 * Returns a reply's blocks in order. If signed parts are kept, texts before the last signed part are sent
 * unchanged, even if blank, because its signature covers them. Other blank texts are left out. Placeholders
 * replace parts that the grammar lacks.
 */
export function replyBlocks<Block>(
  { refs, bound, message, calls }: Pick<AssistantTurn, 'refs' | 'bound' | 'message' | 'calls'>,
  keepsSigned: boolean,
  writer: ReplyWriter<Block>,
): Written<Block>[] {
  const out: Written<Block>[] = []
  const add = (block: Block | null, digest: () => Digest, more: JsonObject | null = null): void => {
    if (block === null) return
    out.push({ block, digest: more === null ? digest : () => digestWith(digest(), more) })
  }
  for (const [position, ref] of refs.entries()) {
    if (ref.kind === 'other') {
      const { placeholder, value } = ref
      if (placeholder === null) {
        const sent = writer.other(value, ref)
        add(sent as Block | null, () => otherDigest(sent ?? {}))
      } else {
        const piece = textPiece(placeholder)
        add(writer.text(piece, null), () => pieceDigest(piece))
      }
      continue
    }
    const { kind, index } = ref
    const more = writer.more(ref)
    const [part, call, block] = [message.content[index], calls[index], message.thinking_blocks[index]]
    if (kind === 'text' && part !== undefined)
      for (const piece of textsOfPart(part, keepsSigned && position < bound))
        add(writer.text(piece, more), () => pieceDigest(piece), more)
    if (kind === 'call' && call !== undefined) add(writer.call(call, more, ref), () => callDigest(call), more)
    if (kind === 'thinking' && block !== undefined && writer.thinking !== undefined)
      add(writer.thinking(block, more, ref), () => thinkingDigest(block), more)
  }
  return out
}
