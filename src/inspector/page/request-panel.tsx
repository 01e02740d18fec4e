import type { ComponentChild } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { State } from '../../state/state.ts'
import { glimpse } from '../glimpse.ts'
import { counted } from '../../explain/explanation.ts'
import { type Difference, differenceAt, type Form, FORMS, type Request, requestOf } from '../model/request.ts'
import { Copy, describe, digits, EventLink, Fold, Json } from './parts.tsx'
import type { Reader } from './session.ts'
import { maskSecrets } from '../../event/mask.ts'

const MESSAGES = 60

export interface RequestProps {
  readonly reader: Reader
  readonly state: State
  readonly form: Form
  readonly setForm: (form: Form) => void
  /** Whether the state is from the log. A what-if's request is not compared with a previous request. */
  readonly isReal: boolean
}

export function RequestPanel(props: RequestProps): ComponentChild {
  const { state, form, setForm } = props
  const [wanted, want] = useState<State | null>(null)
  if (state.branch.view.length <= LONG || wanted === state) return <Written {...props} />
  return (
    <div class="form">
      <FormPicker form={form} setForm={setForm} />
      <button
        type="button"
        onClick={() => want(state)}
      >{`Build this request of ${counted(state.branch.view.length, 'event')}`}</button>
    </div>
  )
}

/** Maximum number of events in a view whose request is written without a click. */
const LONG = 5000

function Written({ reader, state, form, setForm, isReal }: RequestProps): ComponentChild {
  const [all, showAll] = useState(false)
  const { session, position } = reader
  const [request, difference] = useMemo((): [Request, Difference | null] => {
    const now = requestOf(state, form)
    return [now, isReal ? differenceAt(session.replayed, session.asks, position, form, now) : null]
  }, [session, state, position, form, isReal])
  const { messages, front, refused } = request
  const from = all ? 0 : Math.max(0, messages.length - MESSAGES)
  return (
    <div>
      <div class="form">
        <FormPicker form={form} setForm={setForm} />
        <span class="quiet">{refused === null ? counted(messages.length, 'message') : ''}</span>
        <Copy
          text={() => JSON.stringify(maskSecrets({ ...front, messages }), null, 2)}
          label="Copy request as JSON"
        />
      </div>
      {refused !== null && <p class="note">{`The request cannot be sent: ${refused}.`}</p>}
      {difference !== null && refused === null && (
        <Compared reader={reader} difference={difference} request={request} />
      )}
      {difference?.reports.map((text) => (
        <p key={text} class="note warning">{`The provider reported about this request: ${text}.`}</p>
      ))}
      <LeftOut request={request} />
      {Object.entries(front).map(([name, value]) => (
        <MessageBlock key={name} role={name} value={value} look="" />
      ))}
      {from > 0 && (
        <p class="form">
          <button type="button" onClick={() => showAll(true)}>{`Show all ${digits(messages.length)}`}</button>
          <span class="quiet">{counted(from, 'message')} above</span>
        </p>
      )}
      {messages.slice(from).map((message, index) => {
        const position = from + index
        return (
          <MessageBlock
            key={position}
            role={roleOf(message)}
            value={message}
            look={difference === null ? '' : lookOf(difference, position)}
          />
        )
      })}
    </div>
  )
}

const FormPicker = ({ form, setForm }: { form: Form; setForm: (form: Form) => void }): ComponentChild => (
  <label>
    Sent as{' '}
    <select value={form} onChange={(event) => setForm(event.currentTarget.value as Form)}>
      {Object.entries(FORMS).map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  </label>
)

function lookOf({ before, shared, broken }: Difference, index: number): string {
  if (before === null) return ''
  if (index < shared) return ' shared'
  return broken !== null && index === shared ? ' changed' : ' new'
}

const PLACES = { system: 'the system prompt', tools: 'the tools', message: 'message' } as const

interface ComparedProps {
  readonly reader: Reader
  readonly difference: Difference
  readonly request: Request
}

function Compared({ reader, difference, request }: ComparedProps): ComponentChild {
  const { before, shared, broken } = difference
  if (before === null) return <p class="note">This would be the first request.</p>
  const reply = (
    <EventLink
      reader={reader}
      event={before.seq}
      text={`the previous request, for reply ${before.seq + 1}`}
    />
  )
  if (broken === null) {
    const added = request.messages.length - shared
    return (
      <p class="note">
        The prefix is unchanged: the request repeats {reply},{' '}
        {added <= 0 ? 'and adds nothing.' : `and adds ${counted(added, 'message')}.`}
      </p>
    )
  }
  const { change, by, cacheTokens, reasoning } = broken
  const entry = by === null ? undefined : reader.session.replayed.states.at(-1)?.log.entries.get(by)
  const where = change.in === 'message' ? `${PLACES.message} ${(change.message ?? 0) + 1}` : PLACES[change.in]
  return (
    <p class="note error">
      The prefix has changed at {where}
      {change.path === '' ? '' : [' (', <code>{change.path}</code>, ')']}, compared with {reply}.{' '}
      {entry !== undefined &&
        by !== null && [
          'Event ',
          <EventLink reader={reader} event={by} />,
          ` (${describe(entry).role}) caused this. `,
        ]}
      About {digits(cacheTokens)} cached tokens must be read again
      {reasoning > 0 ? `, and ${counted(reasoning, 'signed part')} of reasoning can no longer be sent.` : '.'}
    </p>
  )
}

const UNSENT = {
  prefix: 'the messages before them have changed',
  tools: 'the tool list has changed',
  reply: 'the reply itself was changed',
  grammar: 'they were made in another grammar',
  model: 'another model made them',
  earlier: 'an earlier reply lost its signed parts',
} as const

function LeftOut({ request }: { request: Request }): ComponentChild {
  if (request.leftOut.length === 0) return null
  const parts = request.leftOut.reduce((sum, remaining) => sum + remaining.parts, 0)
  const reasons = [...new Set(request.leftOut.map(({ reason }) => UNSENT[reason]))]
  return (
    <p class="note warning">
      {counted(parts, 'signed part')} of {counted(request.leftOut.length, 'reply', 'replies')} are left out:{' '}
      {reasons.join('; ')}.
    </p>
  )
}

function roleOf(message: unknown): string {
  const { role, type } = message as { readonly role?: unknown; readonly type?: unknown }
  return typeof role === 'string' ? role : typeof type === 'string' ? type : 'item'
}

function MessageBlock({ role, value, look }: { role: string; value: unknown; look: string }): ComponentChild {
  const summary = (
    <summary>
      <span class="role">{role}</span>
      <span class="words">{gist(value)}</span>
    </summary>
  )
  return (
    <Fold class={`sent${look}`} summary={summary}>
      {() => <Json value={value} label={role} />}
    </Fold>
  )
}

const MAX_GIST = 300

function gist(value: unknown): string {
  const texts: string[] = []
  let length = 0
  const read = (part: unknown, key: string): void => {
    if (length > MAX_GIST) return
    if (typeof part === 'string') {
      if (SILENT.has(key)) return
      texts.push(part.slice(0, MAX_GIST))
      length += part.length
    } else if (typeof part === 'object' && part !== null)
      for (const [name, inner] of Object.entries(part)) read(inner, Array.isArray(part) ? key : name)
  }
  read(maskSecrets(value), '')
  return glimpse(texts.join(' · '))
}

const SILENT: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'tool_call_id',
  'tool_use_id',
  'call_id',
  'toolCallId',
  'signature',
  'status',
  'data',
  'media_type',
  'thoughtSignature',
])
