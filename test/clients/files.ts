/** Rows about files, git and commands of sandboxes, for a service that offers them. */

import { expect } from 'vitest'
import type { Fixture } from './fixture.ts'
import { empty, rejected, untestedRejection, type MethodRow, works } from './method-row.ts'

const text = (text: string) => new File([text], 'given.txt', { type: 'text/plain' })

const files = (w: Fixture) => w.agentServer.files
const bash = (w: Fixture) => w.agentServer.bash

export const FILES: readonly MethodRow[] = [
  // The service sets no cookie, because it serves no files to frames.
  empty(
    'RemoteWorkspace.startWorkspaceSession',
    async (w) =>
      (await w.workspace.startWorkspaceSession(w.id)).endsWith(`/api/conversations/${w.id}/workspace/`),
    true,
  ),
  empty('RemoteWorkspace.deleteWorkspaceSession', (w) => w.workspace.deleteWorkspaceSession(), undefined),
  works(
    'RemoteWorkspace.executeCommand',
    (w) => w.workspace.executeCommand('echo said; echo wrong >&2; exit 3', w.folder),
    {
      exit_code: 3,
      stdout: 'said\n',
      stderr: 'wrong\n',
    },
  ),
  works('RemoteWorkspace.gitChanges', (w) => w.workspace.gitChanges(w.folder), [
    { path: 'kept.txt', status: 'UPDATED' },
    { path: 'new.txt', status: 'ADDED' },
  ]),
  works('RemoteWorkspace.gitDiff', (w) => w.workspace.gitDiff(`${w.folder}/kept.txt`), {
    modified: 'three\n',
    original: 'two\n',
  }),
  works('RemoteWorkspace.fileUpload', (w) => w.workspace.fileUpload('of it', `${w.folder}/inner/up.txt`), {
    success: true,
    file_size: 5,
  }),
  works('RemoteWorkspace.fileDownload', (w) => w.workspace.fileDownload(`${w.folder}/inner/up.txt`), {
    success: true,
    content: 'of it',
  }),
  works('RemoteWorkspace.uploadText', (w) => w.workspace.uploadText('text', `${w.folder}/inner/t.txt`), {
    file_size: 4,
  }),
  works(
    'RemoteWorkspace.uploadFileObject',
    (w) => w.workspace.uploadFileObject(text('object'), `${w.folder}/inner/o.txt`),
    {
      source_path: 'given.txt',
      file_size: 6,
    },
  ),
  works(
    'RemoteWorkspace.downloadAsText',
    (w) => w.workspace.downloadAsText(`${w.folder}/inner/t.txt`),
    'text',
  ),
  works(
    'RemoteWorkspace.downloadAsBlob',
    async (w) => (await w.workspace.downloadAsBlob(`${w.folder}/inner/o.txt`)).text(),
    'object',
  ),
  untestedRejection(
    'RemoteWorkspace.downloadAndSave',
    'The method needs a browser document. Use `downloadAsBlob`.',
  ),

  works('FileClient.getHome', async (w) => w.folder.startsWith((await files(w).getHome()).home), true),
  works(
    'FileClient.searchSubdirectories',
    (w) => files(w).searchSubdirectories(w.folder, { includeHidden: true }),
    {
      items: [{ name: '.git' }, { name: 'inner' }],
      next_page_id: null,
    },
  ),
  works('FileClient.uploadFile', (w) => files(w).uploadFile(text('one'), `${w.folder}/inner/f.txt`), {
    file_size: 3,
  }),
  works('FileClient.uploadTextFile', (w) => files(w).uploadTextFile('two!', `${w.folder}/inner/g.txt`), {
    file_size: 4,
  }),
  works(
    'FileClient.downloadFile',
    async (w) => (await files(w).downloadFile(`${w.folder}/inner/f.txt`)).byteLength,
    3,
  ),
  works('FileClient.downloadTextFile', (w) => files(w).downloadTextFile(`${w.folder}/inner/g.txt`), 'two!'),
  works(
    'FileClient.downloadTrajectory',
    async (w) => (await files(w).downloadTrajectory(w.id)).size > 1_000,
    true,
  ),

  works(
    'BashClient.executeCommand',
    async (w) => {
      const report = await bash(w).executeCommand('pwd', w.folder, 20)
      w.saved.set('output', report.id)
      return report
    },
    {
      kind: 'BashOutput',
      exit_code: 0,
      order: 0,
      stdout: expect.stringContaining('/workspace\n') as unknown,
    },
  ),
  works('BashClient.getEvent', (w) => bash(w).getEvent(w.saved.get('output') ?? ''), { kind: 'BashOutput' }),
  works('BashClient.getEvents', (w) => bash(w).getEvents([w.saved.get('output') ?? '', 'none']), [
    expect.objectContaining({ kind: 'BashOutput' }),
    null,
  ]),
  works('BashClient.startCommand', (w) => bash(w).startCommand('true', w.folder), {
    kind: 'BashCommand',
    command: 'true',
  }),
  works(
    'BashClient.searchEvents',
    (w) => bash(w).searchEvents({ kind__eq: 'BashCommand', sort_order: 'TIMESTAMP_DESC', limit: 1 }),
    { items: [{ kind: 'BashCommand', command: 'true' }] },
  ),
  rejected('BashClient.batchGetEvents', 'The fetch standard allows no body in a GET request.', (w) =>
    bash(w).batchGetEvents(['x']),
  ),
  works('BashClient.clearEvents', (w) => bash(w).clearEvents(), {
    cleared_count: expect.any(Number) as unknown,
  }),
]
