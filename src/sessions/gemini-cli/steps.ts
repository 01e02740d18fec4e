/** Finds what each record of a chat of Gemini CLI does, before any of them is read. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import type { SessionRecord } from '../session.ts'

/** What a record does to the chat. */
export type Step =
  | {
      readonly does: 'say'
      readonly record: SessionRecord
      readonly found: Found
      /** What the file calls it; null for what has no name there. */
      readonly id: string | null
      /** A name of its own, also for what the file calls nothing. */
      readonly name: string
    }
  /** Goes back to before a message. */
  | { readonly does: 'back'; readonly record: SessionRecord; readonly to: string }
  /** Begins a new history, which are the steps behind it. */
  | { readonly does: 'replace'; readonly record: SessionRecord; readonly count: number }
  /** Says something about the chat. */
  | {
      readonly does: 'tell'
      readonly record: SessionRecord
      readonly key: string
      readonly value: JsonObject
    }
  | { readonly does: 'keep'; readonly record: SessionRecord; readonly what: string }
  | { readonly does: 'note'; readonly record: SessionRecord; readonly what: string }

/** What is said of a chat, and what happens in it. */
export interface Steps {
  readonly about: Found
  readonly steps: readonly Step[]
}

/** A message that is written again as it grows counts as it is in the end. O(size). */
export function stepsOf(records: readonly SessionRecord[]): Steps {
  const chat = new Chat()
  for (const record of records) chat.read(record)
  return { about: chat.about, steps: chat.steps }
}

class Chat {
  about: Found = {}
  readonly steps: Step[] = []
  /** Where each message of the history stands among the steps, in their order. */
  #places = new Map<string, number>()
  /** The ids in it, in the order of these. */
  #ids: string[] = []

  read(record: SessionRecord): void {
    const found = objectOf(record.value)
    const { $set: changes, $rewindTo: to, type } = found
    if (Array.isArray(found['messages'])) this.#readWhole(found, found['messages'], record)
    else if (typeof to === 'string') this.#goBack(to, record)
    else if (isObject(changes)) this.#change(objectOf(changes), record)
    else if ('sessionId' in found && !('type' in found)) this.#tell('gemini-cli.session', found, record)
    else if (typeof type === 'string') this.#say(found, record, `line-${record.line}`)
    else {
      const what = record.value === undefined ? 'no JSON' : 'no message of a chat'
      this.steps.push({ does: 'keep', record, what })
    }
  }

  /**
   * A document of a whole chat: its messages are its lines. Its head is written anew with each of them: told in front,
   * it would make of a chat that has grown another one.
   */
  #readWhole(found: Found, messages: readonly unknown[], record: SessionRecord): void {
    this.about = { ...this.about, ...found, messages: undefined }
    this.steps.push({ does: 'note', record, what: 'heads of chats' })
    for (const [at, message] of messages.entries()) {
      const line = at + 1
      this.#sayAny(message, { ...record, line }, `line-${line}`)
    }
  }

  #goBack(to: string, record: SessionRecord): void {
    this.steps.push({ does: 'back', record, to })
    // What was cut off may be said again under its id.
    const from = this.#places.get(to) ?? Infinity
    const ids = this.#ids
    for (let id = ids.at(-1); id !== undefined && (this.#places.get(id) ?? 0) >= from; id = ids.at(-1))
      this.#places.delete(ids.pop() ?? '')
  }

  #change(changes: Found, record: SessionRecord): void {
    const { messages } = changes
    this.#tell('gemini-cli.set', changes, record)
    // An empty one replaces nothing.
    if (!Array.isArray(messages) || messages.length === 0) return
    this.#places = new Map()
    this.#ids = []
    const at = this.steps.length
    this.steps.push({ does: 'replace', record, count: 0 })
    for (const [no, message] of messages.entries()) this.#sayAny(message, record, `line-${record.line}-${no}`)
    this.steps[at] = { does: 'replace', record, count: this.steps.length - at - 1 }
  }

  /** Its messages are told by themselves. A time alone stands behind each message, and is that of it. */
  #tell(key: string, found: Found, record: SessionRecord): void {
    this.about = { ...this.about, ...found, messages: undefined }
    const { messages: _, ...value } = found
    const fields = Object.keys(value)
    if (fields.length === 1 && fields[0] === 'lastUpdated')
      this.steps.push({ does: 'note', record, what: 'times at which a chat was last changed' })
    else if (fields.length > 0) this.steps.push({ does: 'tell', record, key, value: value as JsonObject })
  }

  #sayAny(message: unknown, record: SessionRecord, name: string): void {
    if (isObject(message)) return this.#say(objectOf(message), record, name)
    const value = message as JsonValue
    const kept = { line: record.line, raw: JSON.stringify(value), value }
    this.steps.push({ does: 'keep', record: kept, what: 'no message of a chat' })
  }

  #say(found: Found, record: SessionRecord, name: string): void {
    const id = stringOf(found['id']) || null
    const step: Step = { does: 'say', record, found, id, name: id ?? name }
    const place = id === null ? undefined : this.#places.get(id)
    if (place !== undefined) {
      this.steps[place] = step
      this.steps.push({ does: 'note', record, what: 'messages that were written again' })
      return
    }
    if (id !== null) {
      this.#places.set(id, this.steps.length)
      this.#ids.push(id)
    }
    this.steps.push(step)
  }
}
