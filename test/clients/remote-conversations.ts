/** Rows about the client's objects for one conversation and for many. */

import * as api from '@openhands/typescript-client'
import { unzipSync } from 'fflate'
import { expect } from 'vitest'
import { agent, waitForStatus, conversationWith, conversationWithCall, type Fixture } from './fixture.ts'
import {
  NO_GOALS,
  NO_ACP,
  client,
  createIdle,
  eventId,
  messages,
  messagesOnly,
} from './conversation-helpers.ts'
import { empty, rejected, type MethodRow, works } from './method-row.ts'

const any = expect.any(Number) as unknown

/** The names of the files in a zip. */
const fileNames = async (blob: Blob): Promise<string[]> =>
  Object.keys(unzipSync(new Uint8Array(await blob.arrayBuffer()))).map((name) => name.replace(/.*\//, ''))

const remoteOf = (w: Fixture, id: string) =>
  new api.RemoteConversation(agent, w.workspace, { conversationId: id })

export const REMOTE_CONVERSATIONS: readonly MethodRow[] = [
  works(
    'RemoteConversation.start',
    async (w) => {
      const remote = new api.RemoteConversation(agent, w.workspace, {})
      await remote.start({ initialMessage: 'Started' })
      await waitForStatus(w, remote.id, 'finished')
      return remote.getAgentFinalResponse()
    },
    'Started',
  ),
  empty('RemoteConversation.loadHooks', (w) => w.remote.loadHooks(), null),
  works('RemoteConversation.getHookConfig', (w) => w.remote.getHookConfig(), null),
  works('RemoteConversation.conversationStats', (w) => w.remote.conversationStats(), {
    usage_to_metrics: {},
  }),
  works(
    'RemoteConversation.sendMessage',
    async (w) => {
      const before = await client(w).getEventCount(w.id, messagesOnly as never)
      await w.remote.sendMessage('From afar')
      return Number(await client(w).getEventCount(w.id, messagesOnly as never)) - Number(before)
    },
    1,
  ),
  works(
    'RemoteConversation.run',
    async (w) => {
      await w.remote.run()
      await waitForStatus(w, w.id, 'finished')
      return w.remote.getAgentFinalResponse()
    },
    'From afar',
  ),
  works(
    'RemoteConversation.pause',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).pause()
      return client(w).getConversation(id)
    },
    { execution_status: 'paused' },
  ),
  works(
    'RemoteConversation.setConfirmationPolicy',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).setConfirmationPolicy({ kind: 'AlwaysConfirm' } as never)
      return client(w).getConversation(id)
    },
    { confirmation_policy: { kind: 'AlwaysConfirm' } },
  ),
  works(
    'RemoteConversation.sendConfirmationResponse',
    async (w) => {
      const id = await conversationWithCall(w)
      await remoteOf(w, id).sendConfirmationResponse(false, 'Not now')
      return client(w).searchEvents(id, { kind: 'UserRejectObservation' } as never)
    },
    { items: [{ rejection_reason: 'Not now' }] },
  ),
  works(
    'RemoteConversation.setTitle',
    async (w) => {
      await w.remote.setTitle('Titled')
      return client(w).getConversation(w.id)
    },
    { title: 'Titled' },
  ),
  works('RemoteConversation.askAgent', (w) => w.remote.askAgent('Aside'), 'Aside'),
  works('RemoteConversation.getAgentFinalResponse', (w) => w.remote.getAgentFinalResponse(), 'From afar'),
  works(
    'RemoteConversation.switchProfile',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).switchProfile('switched')
      return client(w).getConversation(id)
    },
    { agent: { llm: { model: 'openai/of-a-profile' } } },
  ),
  works(
    'RemoteConversation.switchLlm',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).switchLlm({ model: 'third' } as never)
      return client(w).getConversation(id)
    },
    { agent: { llm: { model: 'third' } } },
  ),
  rejected('RemoteConversation.switchAcpModel', NO_ACP, (w) => w.remote.switchAcpModel('m')),
  rejected('RemoteConversation.startGoal', NO_GOALS, (w) => w.remote.startGoal('All')),
  rejected('RemoteConversation.stopGoal', NO_GOALS, (w) => w.remote.stopGoal()),
  rejected('RemoteConversation.resumeGoal', NO_GOALS, (w) => w.remote.resumeGoal()),
  works(
    'RemoteConversation.fork',
    async (w) => (await w.remote.fork({ title: 'F' } as never)).getHookConfig(),
    null,
  ),
  works(
    'RemoteConversation.navigateTo',
    async (w) => {
      const id = await conversationWith(w, 'There')
      await remoteOf(w, id).navigateTo(null)
      return client(w).getConversation(id)
    },
    { head_is_empty: true },
  ),
  works(
    'RemoteConversation.downloadTrajectory',
    async (w) => (await fileNames(await w.remote.downloadTrajectory())).slice(0, 2),
    ['meta.json', expect.stringMatching(/^event-00000-/) as unknown],
  ),
  works(
    'RemoteConversation.condense',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).condense()
      return client(w).getEventCount(id, { kind: 'CondensationRequest' } as never)
    },
    1,
  ),
  works(
    'RemoteConversation.setSecurityAnalyzer',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).setSecurityAnalyzer({ kind: 'LLMSecurityAnalyzer' } as never)
      return client(w).getConversation(id)
    },
    { security_analyzer: { kind: 'LLMSecurityAnalyzer' } },
  ),
  works(
    'RemoteConversation.updateSecrets',
    async (w) => {
      const { id } = await createIdle(w)
      await remoteOf(w, id).updateSecrets({ B: 'sk-hush', C: () => 'sk-hush' })
      return JSON.stringify(await client(w).getConversation(id)).includes('sk-hush')
    },
    false,
  ),

  works(
    'RemoteState.getConversationInfo',
    async (w) => (await w.remote.state['getConversationInfo']()).id === w.id,
    true,
  ),
  works('RemoteState.refresh', (w) => w.remote.state.refresh(), { execution_status: 'finished' }),
  works('RemoteState.getExecutionStatus', (w) => w.remote.state.getExecutionStatus(), 'finished'),
  works('RemoteState.getAgentStatus', (w) => w.remote.state.getAgentStatus(), 'finished'),
  works('RemoteState.getConfirmationPolicy', (w) => w.remote.state.getConfirmationPolicy(), {
    kind: 'NeverConfirm',
  }),
  works('RemoteState.getActivatedKnowledgeSkills', (w) => w.remote.state.getActivatedKnowledgeSkills(), []),
  works('RemoteState.getAgent', (w) => w.remote.state.getAgent(), {
    kind: 'Agent',
    llm: { model: 'openai/gpt-x' },
  }),
  works('RemoteState.getWorkspace', (w) => w.remote.state.getWorkspace(), { kind: 'LocalWorkspace' }),
  works(
    'RemoteState.getPersistenceDir',
    async (w) => (await w.remote.state.getPersistenceDir()) === `conversations/${w.id}`,
    true,
  ),
  works('RemoteState.modelDump', (w) => w.remote.state.modelDump(), { title: 'Titled' }),
  works(
    'RemoteState.modelDumpJson',
    (w) => w.remote.state.modelDumpJson(),
    expect.stringContaining('"title":"Titled"'),
  ),

  works(
    'RemoteEventsList.search',
    (w) => w.remote.state.events.search({ kind: 'MessageEvent', limit: 2 } as never),
    messages,
  ),
  works('RemoteEventsList.count', (w) => w.remote.state.events.count({ source: 'user' } as never), any),
  works(
    'RemoteEventsList.getEventById',
    async (w) => {
      const id = await eventId(w)
      return (await w.remote.state.events.getEventById(id))?.id === id
    },
    true,
  ),
  works('RemoteEventsList.getEventsById', (w) => w.remote.state.events.getEventsById(['none']), [null]),
  works(
    'RemoteEventsList.getEvents',
    async (w) => (await w.remote.state.events.getEvents()).length > 6,
    true,
  ),

  works('ConversationManager.searchConversations', (w) => w.manager.searchConversations({ limit: 1 }), {
    items: [{ id: expect.any(String) as unknown }],
  }),
  works('ConversationManager.countConversations', (w) => w.manager.countConversations({}), any),
  works('ConversationManager.getConversations', (w) => w.manager.getConversations([w.id]), [
    expect.objectContaining({ title: 'Titled' }),
  ]),
  works(
    'ConversationManager.getAllConversations',
    async (w) =>
      (await w.manager.getAllConversations({ tag: ['env:test'] } as never)).every(
        (one) => one.tags?.['env'] === 'test',
      ),
    true,
  ),
  works('ConversationManager.getConversation', (w) => w.manager.getConversation(w.id), { title: 'Titled' }),
  works(
    'ConversationManager.createConversation',
    async (w) => {
      const created = await w.manager.createConversation(agent, {
        initialMessage: 'Managed',
        workingDir: w.folder,
      })
      w.saved.set('managed', created.id)
      await waitForStatus(w, created.id, 'finished')
      return created.getAgentFinalResponse()
    },
    'Managed',
  ),
  works(
    'ConversationManager.loadConversation',
    async (w) => (await w.manager.loadConversation(w.saved.get('managed') ?? '')).getAgentFinalResponse(),
    'Managed',
  ),
  works('ConversationManager.searchACPConversations', (w) => w.manager.searchACPConversations({ limit: 1 }), {
    items: [{ id: expect.any(String) as unknown }],
  }),
  works('ConversationManager.countACPConversations', (w) => w.manager.countACPConversations({}), any),
  works('ConversationManager.getACPConversations', (w) => w.manager.getACPConversations([w.id]), [
    expect.objectContaining({ title: 'Titled' }),
  ]),
  works(
    'ConversationManager.getAllACPConversations',
    async (w) => (await w.manager.getAllACPConversations()).length > 3,
    true,
  ),
  works('ConversationManager.getACPConversation', (w) => w.manager.getACPConversation(w.id), {
    title: 'Titled',
  }),
  works(
    'ConversationManager.createACPConversation',
    (w) => w.manager.createACPConversation({ kind: 'ACPAgent' } as never),
    {
      agent: { kind: 'ACPAgent' },
      execution_status: 'idle',
    },
  ),
  works(
    'ConversationManager.switchProfile',
    async (w) => {
      await w.manager.switchProfile(w.saved.get('managed') ?? '', 'switched')
      return w.manager.getConversation(w.saved.get('managed') ?? '')
    },
    { agent: { llm: { model: 'openai/of-a-profile' } } },
  ),
  works(
    'ConversationManager.updateConversation',
    async (w) => {
      await w.manager.updateConversation(w.saved.get('managed') ?? '', { title: 'Named' } as never)
      return w.manager.getConversation(w.saved.get('managed') ?? '')
    },
    { title: 'Named' },
  ),
  works(
    'ConversationManager.deleteConversation',
    async (w) => {
      const id = w.saved.get('managed') ?? ''
      await w.manager.deleteConversation(id)
      return w.manager.getConversations([id])
    },
    [null],
  ),
]
