import type { Published } from './operation.ts'

export const AGENT_SERVER: readonly (readonly [string, Published])[] = [
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
]
