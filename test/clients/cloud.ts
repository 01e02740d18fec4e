/** Rows about the control plane, sharing and sockets. */

import { setTimeout as sleep } from 'node:timers/promises'
import * as api from '@openhands/typescript-client'
import * as clients from '@openhands/typescript-client/clients'
import { expect } from 'vitest'
import { agent, waitForStatus, conversationWith, type Fixture } from './fixture.ts'
import { empty, rejected, type MethodRow, works, worksOnly } from './method-row.ts'

const NO_AUTOMATIONS = 'The service has no automations.'
const NO_LOGIN = 'The service has keys and no login.'
const PAGE = { items: [], next_page_id: null }

async function withKey(w: Fixture): Promise<clients.CloudClient> {
  const { key } = await w.agentServer.post<{ readonly key: string }>('/api/keys', {
    name: 'mine',
    org_id: 'org-a',
  })
  return new clients.CloudClient({ host: w.server.url, apiKey: key })
}

/** Waits for a start task; returns the id of its conversation. */
async function ready(w: Fixture, taskId: string): Promise<string> {
  for (;;) {
    const task = await w.cloud.getConversationStartTask(taskId)
    if (task?.status === 'ERROR') throw new Error(String(task.detail))
    if (task?.status === 'READY') return String(task.app_conversation_id)
    await sleep(20)
  }
}

export const CLOUD: readonly MethodRow[] = [
  works(
    'CloudClient.createConversation',
    async (w) => {
      const task = await w.cloud.createConversation({
        agent_type: 'default',
        title: 'In the cloud',
        plugins: [],
        initial_message: { role: 'user', content: [{ type: 'text', text: 'Up' }] },
      })
      w.saved.set('task', task.id)
      return task
    },
    { status: 'WORKING', request: { agent_type: 'default', title: 'In the cloud' } },
  ),
  works(
    'CloudClient.getConversationStartTask',
    async (w) => {
      const id = await ready(w, w.saved.get('task') ?? '')
      w.saved.set('app', id)
      await waitForStatus(w, id, 'finished')
      return w.cloud.getConversationStartTask(w.saved.get('task') ?? '')
    },
    { status: 'READY' },
  ),
  works(
    'CloudClient.getConversations',
    async (w) => {
      const record = await w.cloud.getConversations([w.saved.get('app') ?? '', 'none'])
      w.saved.set('sandbox', String(record[0]?.sandbox_id))
      return record
    },
    [expect.objectContaining({ title: 'In the cloud', execution_status: 'finished' }), null],
  ),
  works('CloudClient.searchConversations', (w) => w.cloud.searchConversations(1), {
    items: [{ title: 'In the cloud' }],
  }),
  works(
    'CloudClient.updateConversationPublicFlag',
    (w) => w.cloud.updateConversationPublicFlag(w.saved.get('app') ?? '', true),
    { public: true },
  ),
  works(
    'SharedClient.getSharedConversations',
    (w) => w.agentServer.shared.getSharedConversations([w.saved.get('app') ?? '', w.id]),
    [expect.objectContaining({ title: 'In the cloud' }), null],
  ),
  works(
    'SharedClient.getSharedConversation',
    (w) => w.agentServer.shared.getSharedConversation(w.saved.get('app') ?? ''),
    {
      title: 'In the cloud',
    },
  ),
  works(
    'SharedClient.searchSharedEvents',
    (w) => w.agentServer.shared.searchSharedEvents({ conversationId: w.saved.get('app') ?? '' }),
    {
      items: [
        { kind: 'MessageEvent', llm_message: { content: [{ type: 'text', text: 'Up' }] } },
        { source: 'agent' },
      ],
    },
  ),
  works(
    'CloudClient.downloadConversation',
    async (w) =>
      new TextDecoder('latin1').decode(
        await (await w.cloud.downloadConversation(w.saved.get('app') ?? '')).arrayBuffer(),
      ),
    expect.stringMatching(/meta\.json[^]*event_000000_/),
  ),
  works(
    'CloudClient.readConversationFile',
    async (w) => {
      const { home } = await w.agentServer.files.getHome()
      await w.agentServer.files.uploadTextFile(
        'A plan',
        `${home}/${w.saved.get('sandbox')}/workspace/PLAN.md`,
      )
      return w.cloud.readConversationFile(w.saved.get('app') ?? '', 'PLAN.md')
    },
    'A plan',
  ),
  works(
    'CloudClient.switchConversationProfile',
    async (w) => {
      await w.cloud.switchConversationProfile(w.saved.get('app') ?? '', 'switched')
      return w.agentServer.conversations.getConversation(w.saved.get('app') ?? '')
    },
    { agent: { llm: { model: 'openai/of-a-profile' } } },
  ),
  rejected('CloudClient.switchConversationAcpModel', 'The service has no ACP agents.', (w) =>
    w.cloud.switchConversationAcpModel(w.id, 'm'),
  ),
  works('CloudClient.getSandboxes', (w) => w.cloud.getSandboxes([w.sandboxId, 'none']), [
    expect.objectContaining({ status: 'RUNNING', sandbox_spec_id: 'folder' }),
    null,
  ]),
  works(
    'CloudClient.pauseSandbox',
    async (w) => (await w.cloud.pauseSandbox(w.sandboxId)) ?? (await w.cloud.getSandboxes([w.sandboxId])),
    [expect.objectContaining({ status: 'PAUSED' })],
  ),
  works(
    'CloudClient.resumeSandbox',
    async (w) => (await w.cloud.resumeSandbox(w.sandboxId)) ?? (await w.cloud.getSandboxes([w.sandboxId])),
    [expect.objectContaining({ status: 'RUNNING' })],
  ),
  works(
    'CloudClient.deleteConversation',
    async (w) => {
      await w.cloud.deleteConversation(w.saved.get('app') ?? '')
      return w.cloud.getConversations([w.saved.get('app') ?? ''])
    },
    [null],
  ),

  works('CloudClient.request', (w) => w.cloud.request({ method: 'GET', path: '/api/billing/credits' }), {
    credits: '0',
  }),
  works('CloudClient.getOrganizations', (w) => w.cloud.getOrganizations(), { items: [], currentOrgId: null }),
  worksOnly('with keys', 'CloudClient.getCurrentApiKey', async (w) => (await withKey(w)).getCurrentApiKey(), {
    name: 'mine',
    org_id: 'org-a',
    auth_type: 'api_key',
  }),
  works('CloudClient.getOrganizationMe', (w) => w.cloud.getOrganizationMe('org-a'), {
    orgId: 'org-a',
    role: 'owner',
    permissions: expect.arrayContaining(['manage_keys']) as unknown,
  }),
  works(
    'CloudClient.saveSettings',
    async (w) => {
      await w.cloud.saveSettings({
        agent_settings_diff: { llm: { model: 'openai/cloudy' } },
        conversation_settings_diff: { max_iterations: 11 },
        app_preferences: { language: 'fr' },
      })
      return w.cloud.getSettings()
    },
    { language: 'fr', llm_model: 'openai/cloudy' },
  ),
  works('CloudClient.getSettings', (w) => w.cloud.getSettings(), {
    llm_model: 'openai/cloudy',
    llm_api_key_set: false,
  }),
  works('CloudClient.getSettingsWithDerivedFields', (w) => w.cloud.getSettingsWithDerivedFields(), {
    agent_settings: { llm: { model: 'openai/cloudy' } },
    conversation_settings: { max_iterations: 11 },
  }),
  works('CloudClient.getSettingsSchema', (w) => w.cloud.getSettingsSchema(), { model_name: 'AgentSettings' }),
  works('CloudClient.getConversationSettingsSchema', (w) => w.cloud.getConversationSettingsSchema(), {
    model_name: 'ConversationSettings',
  }),
  works('CloudClient.saveProfile', (w) => w.cloud.saveProfile('z', { llm: { model: 'openai/z' } } as never), {
    name: 'z',
  }),
  works('CloudClient.listProfiles', (w) => w.cloud.listProfiles(), {
    profiles: expect.arrayContaining([expect.objectContaining({ name: 'z' })]) as unknown,
  }),
  works('CloudClient.getProfile', (w) => w.cloud.getProfile('z'), {
    name: 'z',
    config: { model: 'openai/z' },
  }),
  works('CloudClient.activateProfile', (w) => w.cloud.activateProfile('z'), { name: 'z' }),
  works('CloudClient.renameProfile', (w) => w.cloud.renameProfile('z', 'y'), { name: 'y' }),
  works('CloudClient.deleteProfile', (w) => w.cloud.deleteProfile('y'), { name: 'y' }),
  works(
    'CloudClient.createSecret',
    async (w) => (await w.cloud.createSecret('DEPLOY', 'sk-hush', 'For deploys')) ?? w.cloud.listSecrets(),
    [{ name: 'DEPLOY', description: 'For deploys' }],
  ),
  works('CloudClient.listSecrets', (w) => w.cloud.listSecrets(), [
    { name: 'DEPLOY', description: 'For deploys' },
  ]),
  works(
    'CloudClient.updateSecret',
    async (w) => (await w.cloud.updateSecret('DEPLOY', 'SHIP', 'To ship')) ?? w.cloud.listSecrets(),
    [{ name: 'SHIP', description: 'To ship' }],
  ),
  works(
    'CloudClient.deleteSecret',
    async (w) => (await w.cloud.deleteSecret('SHIP')) ?? w.cloud.listSecrets(),
    [],
  ),
  works('CloudClient.searchModels', (w) => w.cloud.searchModels({ provider__eq: 'openai', limit: 1 }), {
    items: [{ provider: 'openai', name: 'openai/of-a-profile' }],
  }),
  works('CloudClient.searchProviders', (w) => w.cloud.searchProviders({}), { items: [{ name: 'openai' }] }),
  empty('CloudClient.listSkills', (w) => w.cloud.listSkills(), []),
  empty(
    'CloudClient.searchRepositories',
    (w) => w.cloud.searchRepositories({ provider: 'github' } as never),
    PAGE,
  ),
  empty(
    'CloudClient.getInstallations',
    (w) => w.cloud.getInstallations({ provider: 'github' } as never),
    PAGE,
  ),
  empty(
    'CloudClient.getRepositoryBranches',
    (w) => w.cloud.getRepositoryBranches({ provider: 'github', repository: 'a/b' } as never),
    PAGE,
  ),
  empty('CloudClient.getSuggestedTasks', (w) => w.cloud.getSuggestedTasks(), PAGE),
  empty('CloudClient.listAutomations', (w) => w.cloud.listAutomations(), { automations: [], total: 0 }),
  works('CloudClient.getAutomationHealth', (w) => w.cloud.getAutomationHealth(), {
    status: 'ok',
    enabled: false,
  }),
  rejected('CloudClient.getAutomation', NO_AUTOMATIONS, (w) => w.cloud.getAutomation('x')),
  rejected('CloudClient.updateAutomation', NO_AUTOMATIONS, (w) => w.cloud.updateAutomation('x', {})),
  rejected('CloudClient.deleteAutomation', NO_AUTOMATIONS, (w) => w.cloud.deleteAutomation('x')),
  rejected('CloudClient.dispatchAutomation', NO_AUTOMATIONS, (w) => w.cloud.dispatchAutomation('x')),
  rejected('CloudClient.listAutomationRuns', NO_AUTOMATIONS, (w) => w.cloud.listAutomationRuns('x')),
  rejected('CloudClient.downloadAutomationTarball', NO_AUTOMATIONS, (w) =>
    w.cloud.downloadAutomationTarball('x'),
  ),
  rejected('CloudClient.startDeviceFlow', NO_LOGIN, (w) => w.cloud.startDeviceFlow()),
  rejected('CloudClient.pollForToken', NO_LOGIN, (w) => w.cloud.pollForToken('x', { interval: 1 })),

  worksOnly(
    'without keys',
    'RemoteConversation.startWebSocketClient',
    async (w) => {
      const id = await conversationWith(w, 'Before')
      const received: string[] = []
      const { promise: first, resolve: resolveFirst } = Promise.withResolvers<void>()
      const { promise: last, resolve: resolveLast } = Promise.withResolvers<void>()
      const remote = new api.RemoteConversation(agent, w.workspace, {
        conversationId: id,
        callback: (event) => {
          const { kind, key, value } = event as unknown as {
            kind: string
            key?: string
            value?: { execution_status?: string }
          }
          received.push(key === 'full_state' ? `full_state ${value?.execution_status}` : kind)
          if (received.length === 1) resolveFirst()
          if (received.filter((one) => one === 'full_state finished').length === 2) resolveLast()
        },
      })
      await remote.startWebSocketClient()
      await first
      await remote.sendMessage('Live')
      await remote.run()
      await last
      await remote.stopWebSocketClient()
      return [
        received[0],
        received.filter((one) => one === 'MessageEvent').length,
        received.includes('StreamingDeltaEvent'),
        received.at(-1),
      ]
    },
    ['full_state finished', 2, true, 'full_state finished'],
  ),
  works('RemoteConversation.stopWebSocketClient', (w) => w.remote.stopWebSocketClient(), undefined),
]
