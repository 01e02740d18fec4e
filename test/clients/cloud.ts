/** Rows about the control plane, sharing and sockets. */

import * as api from '@openhands/typescript-client'
import * as clients from '@openhands/typescript-client/clients'
import { expect } from 'vitest'
import { agent, rest, spoken, type World } from './clients.ts'
import { empty, out, type Row, works, worksWhere } from './table.ts'

const NO_AUTOMATIONS = 'The service has no automations.'
const NO_LOGIN = 'The service has keys and no login.'
const PAGE = { items: [], next_page_id: null }

async function withKey(w: World): Promise<clients.CloudClient> {
  const { key } = await w.agentServer.post<{ readonly key: string }>('/api/keys', {
    name: 'mine',
    org_id: 'org-a',
  })
  return new clients.CloudClient({ host: w.server.url, apiKey: key })
}

/** Waits for a start task; returns the id of its conversation. */
async function ready(w: World, taskId: string): Promise<string> {
  for (;;) {
    const task = await w.cloud.getConversationStartTask(taskId)
    if (task?.status === 'ERROR') throw new Error(String(task.detail))
    if (task?.status === 'READY') return String(task.app_conversation_id)
  }
}

export const CLOUD: readonly Row[] = [
  works(
    'CloudClient.createConversation',
    async (w) => {
      const task = await w.cloud.createConversation({
        agent_type: 'default',
        title: 'In the cloud',
        plugins: [],
        initial_message: { role: 'user', content: [{ type: 'text', text: 'Up' }] },
      })
      w.kept.set('task', task.id)
      return task
    },
    { status: 'WORKING', request: { agent_type: 'default', title: 'In the cloud' } },
  ),
  works(
    'CloudClient.getConversationStartTask',
    async (w) => {
      const id = await ready(w, w.kept.get('task') ?? '')
      w.kept.set('app', id)
      await rest(w, id, 'finished')
      return w.cloud.getConversationStartTask(w.kept.get('task') ?? '')
    },
    { status: 'READY' },
  ),
  works(
    'CloudClient.getConversations',
    async (w) => {
      const record = await w.cloud.getConversations([w.kept.get('app') ?? '', 'none'])
      w.kept.set('sandbox', String(record[0]?.sandbox_id))
      return record
    },
    [expect.objectContaining({ title: 'In the cloud', execution_status: 'finished' }), null],
  ),
  works('CloudClient.searchConversations', (w) => w.cloud.searchConversations(1), {
    items: [{ title: 'In the cloud' }],
  }),
  works(
    'CloudClient.updateConversationPublicFlag',
    (w) => w.cloud.updateConversationPublicFlag(w.kept.get('app') ?? '', true),
    { public: true },
  ),
  works(
    'SharedClient.getSharedConversations',
    (w) => w.agentServer.shared.getSharedConversations([w.kept.get('app') ?? '', w.id]),
    [expect.objectContaining({ title: 'In the cloud' }), null],
  ),
  works(
    'SharedClient.getSharedConversation',
    (w) => w.agentServer.shared.getSharedConversation(w.kept.get('app') ?? ''),
    {
      title: 'In the cloud',
    },
  ),
  works(
    'SharedClient.searchSharedEvents',
    (w) => w.agentServer.shared.searchSharedEvents({ conversationId: w.kept.get('app') ?? '' }),
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
        await (await w.cloud.downloadConversation(w.kept.get('app') ?? '')).arrayBuffer(),
      ),
    expect.stringMatching(/meta\.json[^]*event_000000_/),
  ),
  works(
    'CloudClient.readConversationFile',
    async (w) => {
      const { home } = await w.agentServer.files.getHome()
      await w.agentServer.files.uploadTextFile('A plan', `${home}/${w.kept.get('sandbox')}/workspace/PLAN.md`)
      return w.cloud.readConversationFile(w.kept.get('app') ?? '', 'PLAN.md')
    },
    'A plan',
  ),
  works(
    'CloudClient.switchConversationProfile',
    async (w) => {
      await w.cloud.switchConversationProfile(w.kept.get('app') ?? '', 'switched')
      return w.agentServer.conversations.getConversation(w.kept.get('app') ?? '')
    },
    { agent: { llm: { model: 'openai/of-a-profile' } } },
  ),
  out('CloudClient.switchConversationAcpModel', 'The service has no ACP agents.', (w) =>
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
      await w.cloud.deleteConversation(w.kept.get('app') ?? '')
      return w.cloud.getConversations([w.kept.get('app') ?? ''])
    },
    [null],
  ),

  works('CloudClient.request', (w) => w.cloud.request({ method: 'GET', path: '/api/billing/credits' }), {
    credits: '0',
  }),
  works('CloudClient.getOrganizations', (w) => w.cloud.getOrganizations(), { items: [], currentOrgId: null }),
  worksWhere(
    'with keys',
    'CloudClient.getCurrentApiKey',
    async (w) => (await withKey(w)).getCurrentApiKey(),
    {
      name: 'mine',
      org_id: 'org-a',
      auth_type: 'api_key',
    },
  ),
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
  out('CloudClient.getAutomation', NO_AUTOMATIONS, (w) => w.cloud.getAutomation('x')),
  out('CloudClient.updateAutomation', NO_AUTOMATIONS, (w) => w.cloud.updateAutomation('x', {})),
  out('CloudClient.deleteAutomation', NO_AUTOMATIONS, (w) => w.cloud.deleteAutomation('x')),
  out('CloudClient.dispatchAutomation', NO_AUTOMATIONS, (w) => w.cloud.dispatchAutomation('x')),
  out('CloudClient.listAutomationRuns', NO_AUTOMATIONS, (w) => w.cloud.listAutomationRuns('x')),
  out('CloudClient.downloadAutomationTarball', NO_AUTOMATIONS, (w) => w.cloud.downloadAutomationTarball('x')),
  out('CloudClient.startDeviceFlow', NO_LOGIN, (w) => w.cloud.startDeviceFlow()),
  out('CloudClient.pollForToken', NO_LOGIN, (w) => w.cloud.pollForToken('x', { interval: 1 })),

  worksWhere(
    'without keys',
    'RemoteConversation.startWebSocketClient',
    async (w) => {
      const id = await spoken(w, 'Before')
      const seen: string[] = []
      const { promise: first, resolve: begun } = Promise.withResolvers<void>()
      const { promise: last, resolve: over } = Promise.withResolvers<void>()
      const remote = new api.RemoteConversation(agent, w.workspace, {
        conversationId: id,
        callback: (event) => {
          const { kind, key, value } = event as unknown as {
            kind: string
            key?: string
            value?: { execution_status?: string }
          }
          seen.push(key === 'full_state' ? `full_state ${value?.execution_status}` : kind)
          if (seen.length === 1) begun()
          if (seen.filter((one) => one === 'full_state finished').length === 2) over()
        },
      })
      await remote.startWebSocketClient()
      await first
      await remote.sendMessage('Live')
      await remote.run()
      await last
      await remote.stopWebSocketClient()
      return [
        seen[0],
        seen.filter((one) => one === 'MessageEvent').length,
        seen.includes('StreamingDeltaEvent'),
        seen.at(-1),
      ]
    },
    ['full_state finished', 2, true, 'full_state finished'],
  ),
  works('RemoteConversation.stopWebSocketClient', (w) => w.remote.stopWebSocketClient(), undefined),
]
