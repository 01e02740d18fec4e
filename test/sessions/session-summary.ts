/** Reads the lines of a session file, and summarizes the session as short texts. */

import { textIn } from '../../src/sessions/content.ts'
import { readSession, type Session, type SessionFormat } from '../../src/sessions/index.ts'
import type { Content, Event, JsonValue } from '../../src/event/index.ts'
import { pathTo, replay, viewEvents } from '../../src/index.ts'

/** Reads values as the lines of a session. A string is a line that is not valid JSON. */
export function read(values: readonly unknown[], from?: SessionFormat): Session {
  const records = values.map((value, index) => {
    if (typeof value === 'string') return { line: index + 1, raw: value, value: undefined }
    const raw = JSON.stringify(value)
    return { line: index + 1, raw, value: JSON.parse(raw) as JsonValue }
  })
  return readSession(records, from === undefined ? {} : { from })
}

export const notesOf = ({ notes }: Session): Record<string, number> =>
  Object.fromEntries(notes.map(({ what, count }) => [what, count]))

/** One text per message, call and result on the branch of HEAD, or in the view. */
export function summarize({ facts }: Session, part: 'branch' | 'view' = 'branch'): string[] {
  const state = replay(facts.map(({ fact }) => fact))
  const items = part === 'branch' ? pathTo(state) : [...viewEvents(state)]
  return items.flatMap(({ event }) => (event === null ? [] : describeEvent(event)))
}

const contentText = (content: readonly Content[] | null | undefined): string =>
  (content ?? [])
    .map((part) => (part.type === 'image' ? `<${String(part['image_urls'])}>` : textIn([part])))
    .join(' ')

function describeEvent(event: Event): string[] {
  switch (event.kind) {
    case 'MessageEvent':
      return [`${event.source}: ${contentText(event.llm_message.content)}`]
    case 'ActionEvent': {
      const thought = contentText(event.thought)
      return [...(thought === '' ? [] : [`agent: ${thought}`]), `call ${event.tool_call_id}`]
    }
    case 'ObservationEvent': {
      const { is_error, content } = event.observation
      return [
        `${is_error === true ? 'failed' : 'result'} ${event.tool_call_id}: ${contentText(content as Content[])}`,
      ]
    }
    case 'UserRejectObservation':
      return [`refused ${event.tool_call_id}: ${event.rejection_reason}`]
    case 'AgentErrorEvent':
      return [`error ${event.tool_call_id}: ${event.error}`]
    case 'Condensation':
    case 'CondensationSummaryEvent':
      return typeof event.summary === 'string' ? [`summary: ${event.summary}`] : []
    case 'InterruptEvent':
      return ['interrupted']
    default:
      return []
  }
}
