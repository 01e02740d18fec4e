import type { ActionEvent, Event } from '../../event/types.ts'
import { hold, same } from '../failure.ts'
import { bodyOf } from './client.ts'
import { it, messagesOf, type ServerCheck, test, type Trial } from './trial.ts'
import { type ScriptedTurn, type SentMessage, textOf } from './script.ts'
import { pluck } from '../conformance/facts.ts'

export const callsIn = (log: readonly Event[]): ActionEvent[] =>
  log.filter(({ kind }) => kind === 'ActionEvent') as never

export const resultsOf = (log: readonly Event[], call: ActionEvent): Event[] =>
  log.filter((event) => {
    if (event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation')
      return event.action_id === call.id
    return event.kind === 'AgentErrorEvent' && event.tool_call_id === call.tool_call_id
  })

export function holdPaired(law: string, log: readonly Event[]): void {
  for (const call of callsIn(log)) {
    const { length } = resultsOf(log, call)
    hold(law, length === 1, () => `call ${call.tool_call_id} of ${call.tool_name} has ${length} results`)
  }
}

const sentTexts = (messages: readonly SentMessage[]): string[] =>
  messages.flatMap((message) => {
    const { role, content, ...rest } = message
    const parts = typeof content === 'string' ? [content] : Array.isArray(content) ? content : []
    return [
      ...parts.map((part) => JSON.stringify([role, part])),
      ...(Object.keys(rest).length === 0 ? [] : [JSON.stringify([role, rest])]),
    ]
  })

export async function holdPrefixes(trial: Trial, id: string): Promise<void> {
  const requests = (await trial.requests(id)).map(sentTexts)
  requests.slice(1).forEach((request, index) => {
    const before = requests[index] ?? []
    same('M15', `the beginning of request ${index + 2}`, request.slice(0, before.length), before)
  })
}

const notesOf = async (trial: Trial, id: string): Promise<readonly string[]> =>
  (await trial.notes()).filter((note) => note.includes(id))

export const RUNS: readonly ServerCheck[] = [
  it('I2 T5 a message gets a reply, and the conversation is finished', async (trial, id) => {
    await trial.play(id, [{ says: ['Good morning to you.'] }])
    const log = await trial.log(id)
    same('I2', 'messages of the agent', messagesOf(log, 'agent'), ['Good morning to you.'])
    same('I2', 'messages of the user', messagesOf(log, 'user').length, 1)
  }),
  it('P1 P6 each call of a reply is executed once and has its own result, including invalid calls', async (trial, id) => {
    const [a, b, c] = [`a-${id}`, `b-${id}`, `c-${id}`]
    const calls = [
      trial.note(a),
      trial.note(b),
      { call: 'no_such_tool', args: { x: 1 } },
      { ...trial.note(''), args: '{"text": ' },
      trial.note(c),
    ]
    await trial.say(id, [{ says: calls }, { says: ['Done.'] }])
    const settled = await trial.until('P1', 'a call has no result', async () => {
      const now = await trial.log(id)
      const all = callsIn(now).length === calls.length
      return all && callsIn(now).every((call) => resultsOf(now, call).length > 0) ? now : null
    })
    holdPaired('P1', settled)
    await trial.rest(id)
    const log = await trial.log(id)
    holdPaired('P1', log)
    const texts = callsIn(log).map((call) => JSON.stringify(resultsOf(log, call)))
    for (const [index, word = ''] of [a, b, undefined, undefined, c].entries())
      hold('P1', texts[index]?.includes(word) === true, `call ${index + 1} has another's result`)
    same('I2', 'messages of the agent', messagesOf(log, 'agent'), ['Done.'])
  }),
  it('P6 [notes] a tool is executed as often as the model called it', async (trial, id) => {
    const notes = [`x-${id}`, `y-${id}`, `x-${id}`]
    const turns = notes.map((word) => ({ says: [trial.note(word)] }))
    await trial.play(id, [...turns, { says: ['Done.'] }])
    same('P6', 'the stored notes', await notesOf(trial, id), notes)
  }),
  it('M7 [requests] the calls of one reply are sent back as one reply, followed by their results', async (trial, id) => {
    await trial.play(id, [{ says: [trial.note('p'), trial.note('q')] }, { says: ['Done.'] }])
    const log = await trial.log(id)
    const replies = new Set(callsIn(log).map((call) => call.llm_response_id))
    same('M7', 'number of replies with calls', replies.size, 1)
    const last = (await trial.requests(id)).at(-1) ?? []
    const roles = last.map(({ role }) => role).filter((role) => role !== 'system')
    same('M7', 'the roles in the second request', roles, ['user', 'assistant', 'tool', 'tool'])
    const texts = last.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content))
    const isPaired = texts[0]?.includes('p') === true && texts[1]?.includes('q') === true
    hold('M10', isPaired, () => `invalid results: ${texts.join(', ')}`)
  }),
  it('M15 M10 [requests] each request begins with the previous request, after replies, calls, and a message during a reply', async (trial, id) => {
    await trial.play(id, [{ says: ['First.'] }])
    await trial.play(id, [{ says: ['I look.', trial.note('p'), trial.note('q')] }, { says: ['Second.'] }])
    await trial.say(id, [{ says: ['Third.'], wait: 250 }])
    await trial.until('P8', 'the model was not called', async () => (await trial.requests(id)).length >= 4)
    await trial.play(id, [{ says: [trial.note('r')] }, { says: ['Fourth.'] }])
    await trial.play(id, [{ says: ['Fifth.'] }])
    const log = await trial.log(id)
    same('I2', 'the last reply', messagesOf(log, 'agent').at(-1), 'Fifth.')
    const last = (await trial.requests(id)).at(-1) ?? []
    const sent = JSON.stringify(last.filter(({ role }) => role !== 'user'))
    for (const text of ['First.', 'I look.', 'Second.', 'Third.', 'Fourth.'])
      hold('M10', sent.includes(text), `the model does not receive its own text: ${text}`)
    await holdPrefixes(trial, id)
  }),
  it('I2 a message during a reply gets a reply before the conversation is finished', async (trial, id) => {
    await trial.say(id, [{ says: ['To the first.'], wait: 250 }])
    await trial.running(id)
    await trial.say(id, [{ says: ['To the second.'] }])
    await trial.until('I2', 'the second message got no reply', async () =>
      (await trial.replies(id)).includes('To the second.'),
    )
    await trial.rest(id)
    same('I2', 'the last message of the agent', (await trial.replies(id)).at(-1), 'To the second.')
  }),
  it('I5 if two callers run a conversation at once, one gets an error, and the model is called once', async (trial, id) => {
    await trial.say(id, [{ says: ['Once.'], wait: 400 }, { says: ['Twice.'] }], false)
    const both = await Promise.all([trial.client.run(id), trial.client.run(id)])
    const statuses = both.map(({ status }) => status).toSorted()
    same('I5', 'the statuses of both responses', statuses, [200, 409])
    await trial.rest(id)
    same('I5', 'messages of the agent', await trial.replies(id), ['Once.'])
  }),
  it('S3 S4 [message_keys] a message that is sent again with its key is appended once, and another message with that key is rejected', async (trial, id) => {
    const send = (text: string) => trial.client.say(id, text, { key: 'k', run: false })
    const ids = [bodyOf(await send('Hello')).event_id, bodyOf(await send('Hello')).event_id]
    same('S3', 'the id of the repeated message', ids[1], ids[0])
    const { status } = await send('Something else')
    same('S4', 'the status for another message with the key', status, 409)
    same('S3', 'messages of the user', messagesOf(await trial.log(id), 'user'), ['Hello'])
  }),
  it('I1 T5 a failing model puts the conversation in error, is recorded in the log, and the next message gets a reply', async (trial, id) => {
    const failure = { fails: 'server_error' } as const
    await trial.play(id, [failure, failure, failure], 'error')
    const log = await trial.log(id)
    const hasError = log.some(({ kind }) => kind === 'ConversationErrorEvent')
    hold('I1', hasError, 'the log has no ConversationErrorEvent')
    await trial.play(id, [{ says: ['Better.'] }])
    same('I2', 'messages of the agent', await trial.replies(id), ['Better.'])
  }),
]

async function waiting(trial: Trial, turns: (id: string) => readonly ScriptedTurn[]): Promise<string> {
  const id = await trial.begin()
  bodyOf(await trial.client.setPolicy(id, { kind: 'AlwaysConfirm' }))
  await trial.play(id, turns(id), 'waiting_for_confirmation')
  const log = await trial.log(id)
  for (const call of callsIn(log)) hold('P7', resultsOf(log, call).length === 0, 'an unconfirmed call ran')
  return id
}

export const nextWaits = (trial: Trial, id: string, calls: number): Promise<true> =>
  trial.until('P7', 'the next call does not wait for confirmation', async () => {
    const isWaiting = (await trial.status(id)) === 'waiting_for_confirmation'
    return isWaiting && callsIn(await trial.log(id)).length === calls
  })

export const CONFIRMATION: readonly ServerCheck[] = [
  test('P7 [confirmation] calls wait for confirmation, are executed once it is given, and later calls wait again', async (trial) => {
    const id = await waiting(trial, (ownId) => [
      { says: [trial.note(`a-${ownId}`), trial.note(`b-${ownId}`)] },
      { says: [trial.note(`c-${ownId}`)] },
      { says: ['Done.'] },
    ])
    same('P7', 'notes before the confirmation', await notesOf(trial, id), [])
    bodyOf(await trial.client.respond(id, true))
    await nextWaits(trial, id, 3)
    const log = await trial.log(id)
    const counts = callsIn(log).map((call) => resultsOf(log, call).length)
    same('P7', 'number of results of each call', counts, [1, 1, 0])
    bodyOf(await trial.client.respond(id, true))
    await trial.rest(id)
    holdPaired('P1', await trial.log(id))
    const { status } = await trial.client.respond(id, true)
    same('P7', 'the status of a confirmation without calls', status, 409)
  }),
  test('P7 [confirmation] a rejected call is not executed, and has the reason as its result', async (trial) => {
    const id = await waiting(trial, (ownId) => [
      { says: [trial.note(`r-${ownId}`)] },
      { says: ['As you like.'] },
    ])
    bodyOf(await trial.client.respond(id, false, 'Too dangerous'))
    const log = await trial.log(id)
    const results = callsIn(log).flatMap((call) => resultsOf(log, call))
    same('P7', 'the results', pluck(results, 'kind'), ['UserRejectObservation'])
    hold('P7', JSON.stringify(results).includes('Too dangerous'), 'the results do not contain the reason')
    hold('T5', (await trial.status(id)) !== 'waiting_for_confirmation', 'the conversation still waits')
    await trial.accepted(() => trial.client.run(id))
    await trial.rest(id)
    const whole = await trial.log(id)
    holdPaired('P7', whole)
    same('P7', 'the stored notes', await notesOf(trial, id), [])
    same('I2', 'messages of the agent', messagesOf(whole, 'agent'), ['As you like.'])
  }),
  test('P6 P7 [confirmation] two approvals execute the calls once', async (trial) => {
    const id = await waiting(trial, (ownId) => [{ says: [trial.note(`t-${ownId}`)] }, { says: ['Done.'] }])
    const both = await Promise.all([trial.client.respond(id, true), trial.client.respond(id, true)])
    const isAccepted = both.some(({ status }) => status === 200)
    hold('P7', isAccepted, 'no approval was accepted')
    await trial.rest(id)
    holdPaired('P6', await trial.log(id))
    const notes = await notesOf(trial, id)
    hold('P6', notes.length <= 1, `the call was executed ${notes.length} times`)
  }),
]

const called = (trial: Trial, id: string, count: number): Promise<true> =>
  trial.until(
    'I1',
    `there are fewer than ${count} calls`,
    async () => callsIn(await trial.log(id)).length >= count,
  )

/** Duration of a model's step, in milliseconds. */
const MODEL_STEP = 120
/** Milliseconds without a new event after which a log is quiet. */
const QUIET = 3 * MODEL_STEP

async function quiet(trial: Trial, id: string): Promise<void> {
  let length = -1
  let since = Date.now()
  await trial.until('I3', 'the log continues to grow', async () => {
    const now = (await trial.log(id)).length
    if (now !== length) since = Date.now()
    length = now
    return Date.now() - since > QUIET
  })
}

async function interrupt(trial: Trial, id: string): Promise<void> {
  bodyOf(await trial.within('I4', 'the interrupt has no response', trial.client.interrupt(id)))
  await trial.rest(id, 'paused')
  await quiet(trial, id)
}

export const STOPS: readonly ServerCheck[] = [
  it('I3 [pause] after an acknowledged pause, no step begins until the conversation is run again', async (trial, id) => {
    const steps = Array.from({ length: 8 }, (_, n) => ({ says: [trial.note(`step ${n}`)], wait: MODEL_STEP }))
    await trial.say(id, [...steps, { says: ['Done.'] }])
    await called(trial, id, 1)
    bodyOf(await trial.client.pause(id))
    const index = callsIn(await trial.log(id)).length
    await trial.rest(id, 'paused')
    await quiet(trial, id)
    const log = await trial.log(id)
    const more = callsIn(log).length - index
    hold('I3', more <= 1 && callsIn(log).length < steps.length, `${more} more steps began`)
    const isPaused = log.some(({ kind }) => kind === 'PauseEvent')
    hold('I3', isPaused, 'the log has no PauseEvent')
    same('I3', 'the status', await trial.status(id), 'paused')
    await trial.accepted(() => trial.client.run(id))
    await trial.rest(id)
    const whole = await trial.log(id)
    same('I3', 'number of calls at the end', callsIn(whole).length, steps.length)
    holdPaired('P1', whole)
  }),
  it('T5 [pause] a conversation that is paused before it runs stays paused until it is run', async (trial, id) => {
    await trial.say(id, [{ says: ['Now.'] }], false)
    bodyOf(await trial.client.pause(id))
    same('T5', 'the status', await trial.status(id), 'paused')
    await trial.accepted(() => trial.client.run(id))
    await trial.rest(id)
    same('I2', 'messages of the agent', await trial.replies(id), ['Now.'])
  }),
  it('I4 [interrupt] an interrupt ends an endless reply; later parts of it are not appended, and the conversation continues', async (trial, id) => {
    await trial.say(id, [{ says: ['Never done'], endless: true }])
    await trial.running(id)
    await interrupt(trial, id)
    const log = await trial.log(id)
    const index = log.findIndex(({ kind }) => kind === 'InterruptEvent')
    hold('I4', index >= 0, 'the log has no InterruptEvent')
    const later = log.slice(index).filter(({ kind }) => kind === 'MessageEvent' || kind === 'ActionEvent')
    // The interrupted reply's text may be appended.
    hold('I4', later.length <= 1, `${later.length} events were appended after the interrupt`)
    await trial.play(id, [{ says: ['Here again.'] }])
    same('I4', 'the last reply', (await trial.replies(id)).at(-1), 'Here again.')
  }),
  it('P9 [interrupt] an interrupt during calls gives every pending call a result', async (trial, id) => {
    await trial.say(id, [{ says: [trial.note('quick'), trial.hold()] }, { says: ['Not said.'] }])
    await called(trial, id, 2)
    await interrupt(trial, id)
    holdPaired('P9', await trial.log(id))
    await trial.play(id, [{ says: ['Here again.'] }])
    holdPaired('P9', await trial.log(id))
  }),
]
