import { expect } from 'vitest'
import { rest, spoken, waiting } from './clients.ts'
import { NO_GOALS, NO_ACP, of, started, eventId, messages, messagesOnly } from './conversation-facts.ts'
import { out, type Row, works } from './table.ts'

const DONE = { success: true }

export const CONVERSATIONS: readonly Row[] = [
  works('ConversationClient.createConversation', started, {
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as unknown,
    tags: { env: 'test' },
    max_iterations: 7,
    tool_module_qualnames: { a: 'b' },
    agent: { kind: 'Agent', llm: { model: 'openai/gpt-x', api_key: '**********' } },
    secrets: '**********',
    execution_status: 'idle',
  }),
  works('ConversationClient.searchConversations', (w) => of(w).searchConversations({ tag: ['env:test'] }), {
    items: [{ tags: { env: 'test' } }],
  }),
  works(
    'ConversationClient.countConversations',
    (w) => of(w).countConversations({ status: 'finished' as never }),
    1,
  ),
  works('ConversationClient.getConversations', (w) => of(w).getConversations([w.id, 'none']), [
    expect.objectContaining({ execution_status: 'finished' }),
    null,
  ]),
  works('ConversationClient.getConversation', (w) => of(w).getConversation(w.id), {
    execution_status: 'finished',
    confirmation_policy: { kind: 'NeverConfirm' },
    workspace: { kind: 'LocalWorkspace' },
    stats: { usage_to_metrics: {} },
    sub_conversation_ids: [],
  }),
  works('ConversationClient.searchEvents', (w) => of(w).searchEvents(w.id, messagesOnly as never), messages),
  works(
    'ConversationClient.getEvent',
    async (w) => {
      const id = await eventId(w)
      return (await of(w).getEvent(w.id, id)).id === id
    },
    true,
  ),
  works(
    'ConversationClient.getEvents',
    async (w) => {
      const id = await eventId(w)
      const [event, none] = await of(w).getEvents(w.id, [id, 'none'])
      return event?.id === id && none === null
    },
    true,
  ),
  works('ConversationClient.getEventCount', (w) => of(w).getEventCount(w.id, messagesOnly as never), 2),
  works(
    'ConversationClient.sendEvent',
    async (w) => {
      await of(w).sendEvent(w.id, { role: 'user', content: [{ type: 'text', text: 'Again' }] } as never, {
        run: true,
      })
      await rest(w, w.id, 'finished')
      return of(w).getEventCount(w.id, messagesOnly as never)
    },
    4,
  ),
  works(
    'ConversationClient.runConversation',
    async (w) => {
      await of(w).sendEvent(w.id, { role: 'user', content: [{ type: 'text', text: 'Run' }] } as never)
      const done = await of(w).runConversation(w.id)
      await rest(w, w.id, 'finished')
      return [done, await of(w).getEventCount(w.id, messagesOnly as never)]
    },
    [DONE, 6],
  ),
  works(
    'ConversationClient.pauseConversation',
    async (w) => of(w).pauseConversation((await started(w)).id),
    DONE,
  ),
  works(
    'ConversationClient.interruptConversation',
    async (w) => of(w).interruptConversation((await started(w)).id),
    DONE,
  ),
  out('ConversationClient.startGoal', NO_GOALS, (w) => of(w).startGoal(w.id, { objective: 'All' })),
  out('ConversationClient.stopGoal', NO_GOALS, (w) => of(w).stopGoal(w.id)),
  out('ConversationClient.resumeGoal', NO_GOALS, (w) => of(w).resumeGoal(w.id)),
  works('ConversationClient.askAgent', (w) => of(w).askAgent(w.id, 'And aside?'), { response: 'And aside?' }),
  works(
    'ConversationClient.respondToConfirmation',
    async (w) => {
      const id = await waiting(w)
      await of(w).respondToConfirmation(id, { accept: true } as never)
      await rest(w, id, 'finished')
      return of(w).searchEvents(id, { kind: 'ObservationEvent' } as never)
    },
    { items: [{ kind: 'ObservationEvent', tool_name: 'echo', source: 'environment' }] },
  ),
  works('ConversationClient.getAgentFinalResponse', (w) => of(w).getAgentFinalResponse(w.id), {
    response: 'Run',
  }),
  works(
    'ConversationClient.setConfirmationPolicy',
    async (w) => {
      const { id } = await started(w)
      await of(w).setConfirmationPolicy(id, { kind: 'AlwaysConfirm' } as never)
      return of(w).getConversation(id)
    },
    { confirmation_policy: { kind: 'AlwaysConfirm' } },
  ),
  works(
    'ConversationClient.condenseConversation',
    async (w) => {
      const { id } = await started(w)
      await of(w).condenseConversation(id)
      return of(w).getEventCount(id, { kind: 'CondensationRequest' } as never)
    },
    1,
  ),
  works(
    'ConversationClient.setSecurityAnalyzer',
    async (w) => {
      const { id } = await started(w)
      await of(w).setSecurityAnalyzer(id, { kind: 'LLMSecurityAnalyzer' } as never)
      return of(w).getConversation(id)
    },
    { security_analyzer: { kind: 'LLMSecurityAnalyzer' } },
  ),
  works(
    'ConversationClient.updateSecrets',
    async (w) => {
      const { id } = await started(w)
      const done = await of(w).updateSecrets(id, {
        secrets: { A: { kind: 'StaticSecret', value: 'sk-hush' } },
      } as never)
      return [done, JSON.stringify(await of(w).getConversation(id)).includes('sk-hush')]
    },
    [DONE, false],
  ),
  works(
    'ConversationClient.forkConversation',
    async (w) => {
      const id = await eventId(w)
      const request = { title: 'Fork', tags: { a: 'b' }, reset_metrics: true, from_event_id: id }
      const fork = await of(w).forkConversation(w.id, request as never)
      const { forked_from_event_id: from } = fork as unknown as { readonly forked_from_event_id: unknown }
      return { ...fork, from_requested: from === id }
    },
    { title: 'Fork', tags: { a: 'b' }, from_requested: true },
  ),
  works(
    'ConversationClient.navigateConversation',
    async (w) => of(w).navigateConversation(await spoken(w, 'Back')),
    {
      head_is_empty: true,
      leaf_event_id: null,
    },
  ),
  works(
    'ConversationClient.switchProfile',
    async (w) => {
      await w.agentServer.profiles.saveProfile('switched', { llm: { model: 'openai/of-a-profile' } } as never)
      const { id } = await started(w)
      await of(w).switchProfile(id, 'switched')
      return of(w).getConversation(id)
    },
    { agent: { kind: 'Agent', llm: { model: 'openai/of-a-profile' } } },
  ),
  works(
    'ConversationClient.switchLLM',
    async (w) => {
      const { id } = await started(w)
      await of(w).switchLLM(id, { model: 'other', api_key: 'sk-hush' } as never)
      return of(w).getConversation(id)
    },
    { agent: { llm: { model: 'other', api_key: '**********' } } },
  ),
  out('ConversationClient.switchAcpModel', NO_ACP, (w) => of(w).switchAcpModel(w.id, 'm')),
  works(
    'ConversationClient.updateConversation',
    async (w) => {
      const { id } = await started(w)
      await of(w).updateConversation(id, { title: 'New', tags: { x: 'y' } } as never)
      return of(w).getConversation(id)
    },
    { title: 'New', tags: { x: 'y' } },
  ),
  works(
    'ConversationClient.deleteConversation',
    async (w) => {
      const { id } = await started(w)
      await of(w).deleteConversation(id)
      return of(w).getConversations([id])
    },
    [null],
  ),
]
