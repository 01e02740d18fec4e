/** Published operations of the application server except conversations. */

import type { Published } from './operation.ts'

export const APP_SERVER: readonly (readonly [string, Published])[] = [
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
