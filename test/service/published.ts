/**
 * What the published documents of the agent server and of the application server say of the operations that the service
 * has, as of August 2026: what a client sends and relies on, and no more.
 */

/** What is published of an operation. */
export interface Published {
  /** The status of its success. */
  readonly status: number
  /** The names of its query, and those of them that must be there. */
  readonly query?: readonly string[]
  readonly needed?: readonly string[]
  /** The fields that a body must have. */
  readonly body?: readonly string[]
  /** The fields that a reply has in any case. */
  readonly gives?: readonly string[]
  /** The values of parameters, of fields of the body (`body.x`) and of the reply (`reply.x`). */
  readonly enums?: Readonly<Record<string, readonly string[]>>
  /** Whether bad input gets 422. */
  readonly refuses?: boolean
}

/** By method and path. */
export const PUBLISHED: readonly (readonly [string, Published])[] = [
  ['get /alive', { status: 200 }],
  ['get /health', { status: 200 }],
  ['get /ready', { status: 200 }],
  ['get /server_info', { status: 200, gives: ['uptime', 'idle_time'] }],
  [
    'get /api/conversations/{conversation_id}/events/search',
    {
      status: 200,
      query: ['page_id', 'limit', 'kind', 'source', 'body', 'sort_order', 'timestamp__gte', 'timestamp__lt'],
      gives: ['items'],
      enums: { sort_order: ['TIMESTAMP', 'TIMESTAMP_DESC'] },
      refuses: true,
    },
  ],
  [
    'get /api/conversations/{conversation_id}/events/count',
    { status: 200, query: ['kind', 'source', 'body', 'timestamp__gte', 'timestamp__lt'], refuses: true },
  ],
  [
    'get /api/conversations/{conversation_id}/events/{event_id}',
    {
      status: 200,
      gives: ['llm_response_id', 'kind'],
      enums: { 'reply.source': ['agent', 'user', 'environment'] },
      refuses: true,
    },
  ],
  ['get /api/conversations/{conversation_id}/events', { status: 200, refuses: true }],
  [
    'post /api/conversations/{conversation_id}/events',
    { status: 200, enums: { 'body.role': ['user', 'system', 'assistant', 'tool'] }, refuses: true },
  ],
  [
    'post /api/conversations/{conversation_id}/events/respond_to_confirmation',
    { status: 200, body: ['accept'], refuses: true },
  ],
  [
    'get /api/conversations/search',
    {
      status: 200,
      query: ['page_id', 'limit', 'status', 'sort_order'],
      gives: ['items'],
      enums: {
        status: [
          'idle',
          'running',
          'paused',
          'waiting_for_confirmation',
          'finished',
          'error',
          'stuck',
          'deleting',
        ],
        sort_order: ['CREATED_AT', 'UPDATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT_DESC'],
      },
      refuses: true,
    },
  ],
  [
    'get /api/conversations/count',
    {
      status: 200,
      query: ['status'],
      enums: {
        status: [
          'idle',
          'running',
          'paused',
          'waiting_for_confirmation',
          'finished',
          'error',
          'stuck',
          'deleting',
        ],
      },
      refuses: true,
    },
  ],
  [
    'get /api/conversations/{conversation_id}',
    {
      status: 200,
      gives: ['id', 'agent', 'workspace'],
      enums: {
        'reply.execution_status': [
          'idle',
          'running',
          'paused',
          'waiting_for_confirmation',
          'finished',
          'error',
          'stuck',
          'deleting',
        ],
      },
      refuses: true,
    },
  ],
  ['delete /api/conversations/{conversation_id}', { status: 200, refuses: true }],
  ['patch /api/conversations/{conversation_id}', { status: 200, body: ['title'], refuses: true }],
  ['get /api/conversations', { status: 200, query: ['ids'], needed: ['ids'], refuses: true }],
  [
    'post /api/conversations',
    {
      status: 200,
      body: ['agent', 'workspace'],
      gives: ['id', 'agent', 'workspace'],
      enums: {
        'reply.execution_status': [
          'idle',
          'running',
          'paused',
          'waiting_for_confirmation',
          'finished',
          'error',
          'stuck',
          'deleting',
        ],
      },
      refuses: true,
    },
  ],
  ['post /api/conversations/{conversation_id}/pause', { status: 200, refuses: true }],
  ['post /api/conversations/{conversation_id}/run', { status: 200, refuses: true }],
  ['post /api/conversations/{conversation_id}/secrets', { status: 200, body: ['secrets'], refuses: true }],
  [
    'post /api/conversations/{conversation_id}/confirmation_policy',
    { status: 200, body: ['policy'], refuses: true },
  ],
  [
    'post /api/conversations/{conversation_id}/security_analyzer',
    { status: 200, body: ['security_analyzer'], refuses: true },
  ],
  [
    'post /api/conversations/{conversation_id}/ask_agent',
    { status: 200, body: ['question'], gives: ['response'], refuses: true },
  ],
  ['post /api/conversations/{conversation_id}/condense', { status: 200, refuses: true }],
  ['get /api/tools/', { status: 200 }],
  [
    'get /api/bash/bash_events/search',
    {
      status: 200,
      query: [
        'kind__eq',
        'command_id__eq',
        'timestamp__gte',
        'timestamp__lt',
        'order__gt',
        'sort_order',
        'page_id',
        'limit',
      ],
      gives: ['items'],
      enums: { kind__eq: ['BashCommand', 'BashOutput'], sort_order: ['TIMESTAMP', 'TIMESTAMP_DESC'] },
      refuses: true,
    },
  ],
  ['get /api/bash/bash_events/{event_id}', { status: 200, gives: ['command', 'kind'], refuses: true }],
  [
    'post /api/bash/start_bash_command',
    { status: 200, body: ['command'], gives: ['command', 'kind'], refuses: true },
  ],
  [
    'post /api/bash/execute_bash_command',
    { status: 200, body: ['command'], gives: ['command_id', 'kind'], refuses: true },
  ],
  ['delete /api/bash/bash_events', { status: 200 }],
  ['get /api/file/download-trajectory/{conversation_id}', { status: 200, refuses: true }],
  [
    'get /api/vscode/url',
    { status: 200, query: ['base_url', 'workspace_dir'], gives: ['url'], refuses: true },
  ],
  ['get /api/vscode/status', { status: 200 }],
  ['get /api/desktop/url', { status: 200, query: ['base_url'], gives: ['url'], refuses: true }],
  ['post /api/skills', { status: 200, gives: ['skills'], refuses: true }],
  [
    'post /api/skills/sync',
    { status: 200, gives: ['status', 'message'], enums: { 'reply.status': ['success', 'error'] } },
  ],
  ['post /api/hooks', { status: 200, refuses: true }],
  ['get /', { status: 200, gives: ['uptime', 'idle_time'] }],
  [
    'get /api/v1/conversation/{conversation_id}/events/search',
    {
      status: 200,
      query: ['kind__eq', 'timestamp__gte', 'timestamp__lt', 'sort_order', 'page_id', 'limit'],
      gives: ['items'],
      enums: { sort_order: ['TIMESTAMP', 'TIMESTAMP_DESC'] },
      refuses: true,
    },
  ],
  [
    'get /api/v1/conversation/{conversation_id}/events/count',
    { status: 200, query: ['kind__eq', 'timestamp__gte', 'timestamp__lt'], refuses: true },
  ],
  [
    'get /api/v1/conversation/{conversation_id}/events',
    { status: 200, query: ['id'], needed: ['id'], refuses: true },
  ],
  [
    'get /api/v1/app-conversations/search',
    {
      status: 200,
      query: [
        'title__contains',
        'created_at__gte',
        'created_at__lt',
        'updated_at__gte',
        'updated_at__lt',
        'sandbox_id__eq',
        'page_id',
        'limit',
        'include_sub_conversations',
      ],
      gives: ['items'],
      refuses: true,
    },
  ],
  [
    'get /api/v1/app-conversations/count',
    {
      status: 200,
      query: [
        'title__contains',
        'created_at__gte',
        'created_at__lt',
        'updated_at__gte',
        'updated_at__lt',
        'sandbox_id__eq',
      ],
      refuses: true,
    },
  ],
  ['get /api/v1/app-conversations', { status: 200, query: ['ids'], needed: ['ids'], refuses: true }],
  [
    'post /api/v1/app-conversations',
    {
      status: 200,
      gives: ['created_by_user_id', 'request'],
      enums: {
        'body.git_provider': [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
        'body.trigger': [
          'resolver',
          'gui',
          'suggested_task',
          'openhands_api',
          'slack',
          'microagent_management',
          'jira',
          'jira_dc',
          'linear',
          'bitbucket',
          'automation',
        ],
        'body.agent_type': ['default', 'plan'],
        'reply.status': [
          'WORKING',
          'WAITING_FOR_SANDBOX',
          'PREPARING_REPOSITORY',
          'RUNNING_SETUP_SCRIPT',
          'SETTING_UP_GIT_HOOKS',
          'SETTING_UP_SKILLS',
          'STARTING_CONVERSATION',
          'READY',
          'ERROR',
        ],
      },
      refuses: true,
    },
  ],
  [
    'patch /api/v1/app-conversations/{conversation_id}',
    {
      status: 200,
      gives: ['created_by_user_id', 'sandbox_id', 'acp_server', 'launched_agent_profile'],
      enums: {
        'body.git_provider': [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
        'reply.git_provider': [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
        'reply.trigger': [
          'resolver',
          'gui',
          'suggested_task',
          'openhands_api',
          'slack',
          'microagent_management',
          'jira',
          'jira_dc',
          'linear',
          'bitbucket',
          'automation',
        ],
        'reply.sandbox_status': ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'],
        'reply.execution_status': [
          'idle',
          'running',
          'paused',
          'waiting_for_confirmation',
          'finished',
          'error',
          'stuck',
          'deleting',
        ],
      },
      refuses: true,
    },
  ],
  ['delete /api/v1/app-conversations/{conversation_id}', { status: 200, refuses: true }],
  [
    'post /api/v1/app-conversations/{conversation_id}/send-message',
    {
      status: 200,
      body: ['content'],
      gives: ['success', 'sandbox_status'],
      enums: { 'reply.sandbox_status': ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'] },
      refuses: true,
    },
  ],
  [
    'post /api/v1/app-conversations/{conversation_id}/switch_profile',
    { status: 200, body: ['profile_name'], refuses: true },
  ],
  [
    'post /api/v1/app-conversations/stream-start',
    {
      status: 200,
      enums: {
        'body.git_provider': [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
        'body.trigger': [
          'resolver',
          'gui',
          'suggested_task',
          'openhands_api',
          'slack',
          'microagent_management',
          'jira',
          'jira_dc',
          'linear',
          'bitbucket',
          'automation',
        ],
        'body.agent_type': ['default', 'plan'],
      },
      refuses: true,
    },
  ],
  [
    'get /api/v1/app-conversations/start-tasks/search',
    {
      status: 200,
      query: ['conversation_id__eq', 'created_at__gte', 'sort_order', 'page_id', 'limit'],
      gives: ['items'],
      enums: { sort_order: ['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC'] },
      refuses: true,
    },
  ],
  [
    'get /api/v1/app-conversations/start-tasks/count',
    { status: 200, query: ['conversation_id__eq', 'created_at__gte'], refuses: true },
  ],
  [
    'get /api/v1/app-conversations/start-tasks',
    { status: 200, query: ['ids'], needed: ['ids'], refuses: true },
  ],
  [
    'get /api/v1/app-conversations/{conversation_id}/file',
    { status: 200, query: ['file_path'], refuses: true },
  ],
  [
    'get /api/v1/app-conversations/{conversation_id}/git/changes',
    { status: 200, query: ['path', 'ref'], needed: ['path'], refuses: true },
  ],
  [
    'get /api/v1/app-conversations/{conversation_id}/git/diff',
    { status: 200, query: ['path', 'ref'], needed: ['path'], refuses: true },
  ],
  ['get /api/v1/app-conversations/{conversation_id}/download', { status: 200, refuses: true }],
  [
    'post /api/v1/conversations/{conversation_id}/pending-messages',
    { status: 201, gives: ['id', 'queued', 'position'], refuses: true },
  ],
  [
    'get /api/v1/sandboxes/search',
    { status: 200, query: ['page_id', 'limit'], gives: ['items'], refuses: true },
  ],
  ['get /api/v1/sandboxes', { status: 200, query: ['id'], needed: ['id'], refuses: true }],
  [
    'post /api/v1/sandboxes',
    {
      status: 200,
      query: ['sandbox_spec_id'],
      gives: ['id', 'created_by_user_id', 'sandbox_spec_id', 'status', 'session_api_key'],
      enums: { 'reply.status': ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'] },
      refuses: true,
    },
  ],
  ['post /api/v1/sandboxes/{sandbox_id}/pause', { status: 200, refuses: true }],
  ['post /api/v1/sandboxes/{sandbox_id}/resume', { status: 200, refuses: true }],
  [
    'delete /api/v1/sandboxes/{sandbox_id}',
    { status: 200, query: ['sandbox_id'], needed: ['sandbox_id'], refuses: true },
  ],
  [
    'get /api/v1/sandbox-specs/search',
    { status: 200, query: ['page_id', 'limit'], gives: ['items'], refuses: true },
  ],
  ['get /api/v1/sandbox-specs', { status: 200, query: ['id'], needed: ['id'], refuses: true }],
  [
    'get /api/v1/settings',
    {
      status: 200,
      gives: ['llm_api_key_set'],
      enums: {
        'reply.sandbox_grouping_strategy': [
          'NO_GROUPING',
          'GROUP_BY_NEWEST',
          'LEAST_RECENTLY_USED',
          'FEWEST_CONVERSATIONS',
          'ADD_TO_ANY',
        ],
      },
    },
  ],
  ['post /api/v1/settings', { status: 200, refuses: true }],
  ['get /api/v1/settings/agent-schema', { status: 200 }],
  ['get /api/v1/settings/conversation-schema', { status: 200 }],
  ['get /api/v1/settings/profiles', { status: 200, gives: ['profiles'] }],
  ['get /api/v1/settings/profiles/{name}', { status: 200, gives: ['name', 'config'], refuses: true }],
  ['post /api/v1/settings/profiles/{name}', { status: 201, gives: ['name', 'message'], refuses: true }],
  ['delete /api/v1/settings/profiles/{name}', { status: 200, gives: ['name', 'message'], refuses: true }],
  [
    'post /api/v1/settings/profiles/{name}/activate',
    { status: 200, gives: ['name', 'message'], refuses: true },
  ],
  [
    'post /api/v1/settings/profiles/{name}/rename',
    { status: 200, body: ['new_name'], gives: ['name', 'message'], refuses: true },
  ],
  [
    'get /api/v1/secrets/search',
    { status: 200, query: ['name__contains', 'page_id', 'limit'], gives: ['items'], refuses: true },
  ],
  ['post /api/v1/secrets', { status: 201, body: ['name', 'value'], gives: ['message'], refuses: true }],
  ['put /api/v1/secrets/{name}', { status: 200, body: ['name'], gives: ['message'], refuses: true }],
  ['delete /api/v1/secrets/{name}', { status: 200, gives: ['message'], refuses: true }],
  [
    'get /api/v1/skills/search',
    { status: 200, query: ['page_id', 'limit'], gives: ['items'], refuses: true },
  ],
  [
    'get /api/v1/git/installations/search',
    {
      status: 200,
      query: ['provider', 'page_id', 'limit'],
      needed: ['provider'],
      gives: ['items'],
      enums: {
        provider: [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
      },
      refuses: true,
    },
  ],
  [
    'get /api/v1/git/repositories/search',
    {
      status: 200,
      query: ['provider', 'query', 'installation_id', 'page_id', 'limit', 'sort_order'],
      needed: ['provider'],
      gives: ['items'],
      enums: {
        provider: [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
        sort_order: ['stars-desc', 'stars-asc', 'forks-desc', 'forks-asc', 'updated-desc', 'updated-asc'],
      },
      refuses: true,
    },
  ],
  [
    'get /api/v1/git/branches/search',
    {
      status: 200,
      query: ['provider', 'repository', 'query', 'page_id', 'limit'],
      needed: ['provider', 'repository', 'query'],
      gives: ['items'],
      enums: {
        provider: [
          'github',
          'gitlab',
          'bitbucket',
          'bitbucket_data_center',
          'forgejo',
          'azure_devops',
          'enterprise_sso',
        ],
      },
      refuses: true,
    },
  ],
  [
    'get /api/v1/git/suggested-tasks/search',
    { status: 200, query: ['page_id', 'limit'], gives: ['items'], refuses: true },
  ],
  [
    'get /api/v1/config/models/search',
    {
      status: 200,
      query: ['page_id', 'limit', 'query', 'verified__eq', 'provider__eq'],
      gives: ['items'],
      refuses: true,
    },
  ],
  [
    'get /api/v1/config/providers/search',
    { status: 200, query: ['page_id', 'limit', 'query', 'verified__eq'], gives: ['items'], refuses: true },
  ],
  ['get /api/billing/credits', { status: 200 }],
  ['get /api/shared-conversations', { status: 200, query: ['ids'], needed: ['ids'], refuses: true }],
  [
    'get /api/shared-events/search',
    {
      status: 200,
      query: [
        'conversation_id',
        'kind__eq',
        'timestamp__gte',
        'timestamp__lt',
        'sort_order',
        'page_id',
        'limit',
      ],
      needed: ['conversation_id'],
      gives: ['items'],
      enums: { sort_order: ['TIMESTAMP', 'TIMESTAMP_DESC'] },
      refuses: true,
    },
  ],
  [
    'get /api/shared-events/count',
    {
      status: 200,
      query: ['conversation_id', 'kind__eq', 'timestamp__gte', 'timestamp__lt'],
      needed: ['conversation_id'],
      refuses: true,
    },
  ],
  [
    'get /api/shared-events',
    { status: 200, query: ['conversation_id', 'id'], needed: ['conversation_id', 'id'], refuses: true },
  ],
  [
    'get /api/shared-events/{conversation_id}/{event_id}',
    {
      status: 200,
      gives: ['source', 'code', 'detail', 'kind'],
      enums: { 'reply.source': ['agent', 'user', 'environment', 'hook'] },
      refuses: true,
    },
  ],
  ['get /api/keys', { status: 200 }],
  ['post /api/keys', { status: 200, gives: ['id', 'created_at', 'key'], refuses: true }],
  ['delete /api/keys/{key_id}', { status: 200, gives: ['message'], refuses: true }],
  [
    'get /api/keys/current',
    { status: 200, gives: ['id', 'name', 'org_id', 'bound_org_id', 'user_id', 'auth_type'] },
  ],
  ['post /api/keys/llm/managed/refresh', { status: 200, gives: ['refreshed'] }],
  ['get /api/organizations', { status: 200, query: ['page_id', 'limit'], gives: ['items'], refuses: true }],
  [
    'get /api/organizations/{org_id}/me',
    { status: 200, gives: ['org_id', 'user_id', 'email', 'role', 'llm_api_key'], refuses: true },
  ],
  [
    'get /api/organizations/{org_id}/profiles',
    { status: 200, gives: ['profiles', 'active_profile'], refuses: true },
  ],
  ['get /api/organizations/{org_id}/profiles/{name}', { status: 200, gives: ['name', 'llm'], refuses: true }],
  [
    'post /api/organizations/{org_id}/profiles/{name}',
    { status: 200, gives: ['name', 'message'], refuses: true },
  ],
  [
    'delete /api/organizations/{org_id}/profiles/{name}',
    { status: 200, gives: ['name', 'message'], refuses: true },
  ],
  [
    'post /api/organizations/{org_id}/profiles/{name}/activate',
    { status: 200, gives: ['name', 'message', 'llm'], refuses: true },
  ],
  [
    'post /api/organizations/{org_id}/profiles/{name}/rename',
    { status: 200, body: ['new_name'], gives: ['name', 'message'], refuses: true },
  ],
  ['get /api/agent-profiles', { status: 200, query: ['org_id'], gives: ['profiles'], refuses: true }],
  [
    'get /api/agent-profiles/{name}',
    { status: 200, query: ['org_id'], gives: ['name', 'profile'], refuses: true },
  ],
  [
    'post /api/agent-profiles/{name}',
    { status: 201, query: ['org_id'], gives: ['name', 'message'], refuses: true },
  ],
  [
    'delete /api/agent-profiles/{name}',
    { status: 200, query: ['org_id'], gives: ['name', 'message'], refuses: true },
  ],
  [
    'post /api/agent-profiles/{name}/rename',
    { status: 200, query: ['org_id'], body: ['new_name'], gives: ['name', 'message'], refuses: true },
  ],
  [
    'post /api/agent-profiles/{profile_id}/activate',
    { status: 200, query: ['org_id'], gives: ['id', 'message'], refuses: true },
  ],
  [
    'post /api/agent-profiles/{name}/materialize',
    { status: 200, query: ['org_id'], gives: ['agent_kind'], refuses: true },
  ],
]
