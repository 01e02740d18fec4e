import { expect } from 'vitest'
import { waitForStatus, conversationWith, conversationWithCall } from './fixture.ts'
import {
  NO_GOALS,
  NO_ACP,
  client,
  createIdle,
  eventId,
  messages,
  messagesOnly,
} from './conversation-helpers.ts'
import { rejected, type MethodRow, works } from './method-row.ts'

const DONE = { success: true }

export const CONVERSATIONS: readonly MethodRow[] = [
  works('ConversationClient.createConversation', createIdle, {
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as unknown,
    tags: { env: 'test' },
    max_iterations: 7,
    tool_module_qualnames: { a: 'b' },
    agent: { kind: 'Agent', llm: { model: 'openai/gpt-x', api_key: '**********' } },
    secrets: '**********',
    execution_status: 'idle',
  }),
  works(
    'ConversationClient.searchConversations',
    (w) => client(w).searchConversations({ tag: ['env:test'] }),
    {
      items: [{ tags: { env: 'test' } }],
    },
  ),
  works(
    'ConversationClient.countConversations',
    (w) => client(w).countConversations({ status: 'finished' as never }),
    1,
  ),
  works('ConversationClient.getConversations', (w) => client(w).getConversations([w.id, 'none']), [
    expect.objectContaining({ execution_status: 'finished' }),
    null,
  ]),
  works('ConversationClient.getConversation', (w) => client(w).getConversation(w.id), {
    execution_status: 'finished',
    confirmation_policy: { kind: 'NeverConfirm' },
    workspace: { kind: 'LocalWorkspace' },
    stats: { usage_to_metrics: {} },
    sub_conversation_ids: [],
  }),
  works(
    'ConversationClient.searchEvents',
    (w) => client(w).searchEvents(w.id, messagesOnly as never),
    messages,
  ),
  works(
    'ConversationClient.getEvent',
    async (w) => {
      const id = await eventId(w)
      return (await client(w).getEvent(w.id, id)).id === id
    },
    true,
  ),
  works(
    'ConversationClient.getEvents',
    async (w) => {
      const id = await eventId(w)
      const [event, none] = await client(w).getEvents(w.id, [id, 'none'])
      return event?.id === id && none === null
    },
    true,
  ),
  works('ConversationClient.getEventCount', (w) => client(w).getEventCount(w.id, messagesOnly as never), 2),
  works(
    'ConversationClient.sendEvent',
    async (w) => {
      await client(w).sendEvent(w.id, { role: 'user', content: [{ type: 'text', text: 'Again' }] } as never, {
        run: true,
      })
      await waitForStatus(w, w.id, 'finished')
      return client(w).getEventCount(w.id, messagesOnly as never)
    },
    4,
  ),
  works(
    'ConversationClient.runConversation',
    async (w) => {
      await client(w).sendEvent(w.id, { role: 'user', content: [{ type: 'text', text: 'Run' }] } as never)
      const done = await client(w).runConversation(w.id)
      await waitForStatus(w, w.id, 'finished')
      return [done, await client(w).getEventCount(w.id, messagesOnly as never)]
    },
    [DONE, 6],
  ),
  works(
    'ConversationClient.pauseConversation',
    async (w) => client(w).pauseConversation((await createIdle(w)).id),
    DONE,
  ),
  works(
    'ConversationClient.interruptConversation',
    async (w) => client(w).interruptConversation((await createIdle(w)).id),
    DONE,
  ),
  rejected('ConversationClient.startGoal', NO_GOALS, (w) => client(w).startGoal(w.id, { objective: 'All' })),
  rejected('ConversationClient.stopGoal', NO_GOALS, (w) => client(w).stopGoal(w.id)),
  rejected('ConversationClient.resumeGoal', NO_GOALS, (w) => client(w).resumeGoal(w.id)),
  works('ConversationClient.askAgent', (w) => client(w).askAgent(w.id, 'And aside?'), {
    response: 'And aside?',
  }),
  works(
    'ConversationClient.respondToConfirmation',
    async (w) => {
      const id = await conversationWithCall(w)
      await client(w).respondToConfirmation(id, { accept: true } as never)
      await waitForStatus(w, id, 'finished')
      return client(w).searchEvents(id, { kind: 'ObservationEvent' } as never)
    },
    { items: [{ kind: 'ObservationEvent', tool_name: 'echo', source: 'environment' }] },
  ),
  works('ConversationClient.getAgentFinalResponse', (w) => client(w).getAgentFinalResponse(w.id), {
    response: 'Run',
  }),
  works(
    'ConversationClient.setConfirmationPolicy',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).setConfirmationPolicy(id, { kind: 'AlwaysConfirm' } as never)
      return client(w).getConversation(id)
    },
    { confirmation_policy: { kind: 'AlwaysConfirm' } },
  ),
  works(
    'ConversationClient.condenseConversation',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).condenseConversation(id)
      return client(w).getEventCount(id, { kind: 'CondensationRequest' } as never)
    },
    1,
  ),
  works(
    'ConversationClient.setSecurityAnalyzer',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).setSecurityAnalyzer(id, { kind: 'LLMSecurityAnalyzer' } as never)
      return client(w).getConversation(id)
    },
    { security_analyzer: { kind: 'LLMSecurityAnalyzer' } },
  ),
  works(
    'ConversationClient.updateSecrets',
    async (w) => {
      const { id } = await createIdle(w)
      const done = await client(w).updateSecrets(id, {
        secrets: { A: { kind: 'StaticSecret', value: 'sk-hush' } },
      } as never)
      return [done, JSON.stringify(await client(w).getConversation(id)).includes('sk-hush')]
    },
    [DONE, false],
  ),
  works(
    'ConversationClient.forkConversation',
    async (w) => {
      const id = await eventId(w)
      const request = { title: 'Fork', tags: { a: 'b' }, reset_metrics: true, from_event_id: id }
      const fork = await client(w).forkConversation(w.id, request as never)
      const { forked_from_event_id: from } = fork as unknown as { readonly forked_from_event_id: unknown }
      return { ...fork, from_requested: from === id }
    },
    { title: 'Fork', tags: { a: 'b' }, from_requested: true },
  ),
  works(
    'ConversationClient.navigateConversation',
    async (w) => client(w).navigateConversation(await conversationWith(w, 'Back')),
    {
      head_is_empty: true,
      leaf_event_id: null,
    },
  ),
  works(
    'ConversationClient.switchProfile',
    async (w) => {
      await w.agentServer.profiles.saveProfile('switched', { llm: { model: 'openai/of-a-profile' } } as never)
      const { id } = await createIdle(w)
      await client(w).switchProfile(id, 'switched')
      return client(w).getConversation(id)
    },
    { agent: { kind: 'Agent', llm: { model: 'openai/of-a-profile' } } },
  ),
  works(
    'ConversationClient.switchLLM',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).switchLLM(id, { model: 'other', api_key: 'sk-hush' } as never)
      return client(w).getConversation(id)
    },
    { agent: { llm: { model: 'other', api_key: '**********' } } },
  ),
  rejected('ConversationClient.switchAcpModel', NO_ACP, (w) => client(w).switchAcpModel(w.id, 'm')),
  works(
    'ConversationClient.updateConversation',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).updateConversation(id, { title: 'New', tags: { x: 'y' } } as never)
      return client(w).getConversation(id)
    },
    { title: 'New', tags: { x: 'y' } },
  ),
  works(
    'ConversationClient.deleteConversation',
    async (w) => {
      const { id } = await createIdle(w)
      await client(w).deleteConversation(id)
      return client(w).getConversations([id])
    },
    [null],
  ),
]
