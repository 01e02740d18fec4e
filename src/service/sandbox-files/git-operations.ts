import { listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { integer, matching, optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { MAX_BYTES, REFUSED, requireFiles, type SandboxFiles } from './contract.ts'

interface GitChange {
  readonly status: 'ADDED' | 'DELETED' | 'MOVED' | 'UPDATED'
  readonly path: string
}

const STATUSES: Readonly<Record<string, GitChange['status']>> = {
  A: 'ADDED',
  D: 'DELETED',
  R: 'MOVED',
  C: 'ADDED',
}

/** Matches revisions, but no option of git, because an option could change what a command does. */
const REF = /^[\w][\w./@{}^~-]{0,200}$/

function checkRef(ref: string | null): void {
  if (ref === null || (REF.test(ref) && !ref.includes('..'))) return
  throw new HttpProblem(400, 'Invalid revision. Pass a branch, a tag or a commit.')
}

/** Reads the fields of `--name-status -z`: a status, a path, and a second path for a moved file. */
function changesIn(text: string): GitChange[] {
  const fields = text.split('\u0000')
  const changes: GitChange[] = []
  for (let index = 0; index + 1 < fields.length;) {
    const [letter = ''] = fields[index] ?? ''
    const isMoved = letter === 'R' || letter === 'C'
    const path = fields[index + (isMoved ? 2 : 1)] ?? ''
    if (path !== '') changes.push({ status: STATUSES[letter] ?? 'UPDATED', path })
    index += isMoved ? 3 : 2
  }
  return changes
}

const DIFF_OPTIONS = [
  'diff',
  '--no-ext-diff',
  '--no-textconv',
  '--submodule=short',
  '--ignore-submodules=dirty',
  '--name-status',
  '-z',
  '-M',
] as const

/**
 * Returns the files that changed since a revision (default: HEAD), and untracked files. Returns an empty list
 * outside a repository.
 * @throws HttpProblem 400 for an invalid or unknown revision.
 */
export async function changesOf(files: SandboxFiles, path: string, ref: string | null): Promise<GitChange[]> {
  checkRef(ref)
  const { git } = files
  const base = ref ?? (await treeOf(files, path, 'HEAD'))
  const known = await git(path, [...DIFF_OPTIONS, '--relative', base, '--'])
  if (known === null && ref !== null && (await git(path, ['rev-parse', '--git-dir'])) !== null)
    throw new HttpProblem(400, 'Revision not found.')
  if (known === null) return []
  const others = (await git(path, ['ls-files', '--others', '--exclude-standard', '-z'])) ?? ''
  const fresh = others.split('\u0000').filter((name) => name !== '')
  const all = [...changesIn(known), ...fresh.map((name): GitChange => ({ status: 'ADDED', path: name }))]
  return all.toSorted((a, b) => Number(a.path > b.path) - Number(a.path < b.path))
}

async function commitsOf({ git }: SandboxFiles, path: string, limit: number) {
  const format = '--format=%H%x00%h%x00%s%x00%an%x00%cI'
  const output = await git(path, ['log', `-n${limit + 1}`, '--no-show-signature', format, 'HEAD', '--'])
  const lines = output?.trimEnd().split('\n') ?? []
  const commits = lines.map((line) => {
    const [sha = '', short_sha = '', subject = '', author = '', timestamp = ''] = line.split('\u0000')
    return { sha, short_sha, subject, author, timestamp }
  })
  return { commits: commits.slice(0, limit), has_more: commits.length > limit }
}

async function changesInCommit(files: SandboxFiles, path: string, sha: string): Promise<GitChange[]> {
  const before = await treeOf(files, path, `${sha}^`)
  const output = await files.git(path, [...DIFF_OPTIONS, before, sha, '--'])
  if (output === null) throw new HttpProblem(404, 'Commit not found.')
  return changesIn(output)
}

/** Returns the id of a commit. If the commit does not exist, returns the id of git's empty tree. */
async function treeOf({ git }: SandboxFiles, path: string, commit: string): Promise<string> {
  const id =
    (await git(path, ['rev-parse', '--verify', '-q', commit])) ??
    // This id depends on the hash function of the repository.
    (await git(path, ['hash-object', '-t', 'tree', '/dev/null']))
  return id?.trim() ?? ''
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

const isMissing = (error: unknown): boolean => error instanceof HttpProblem && error.status === 404

/** Returns the top folder of a file's repository; null outside a repository. */
async function topFolderOf({ git }: SandboxFiles, file: string): Promise<string | null> {
  for (let folder = parentOf(file); ; folder = parentOf(folder)) {
    try {
      return (await git(folder, ['rev-parse', '--show-toplevel']))?.replace(/\n$/, '') ?? null
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
}

/**
 * Returns two texts of a file, to compare. With `commit`: the texts after and before this commit. Otherwise:
 * the texts in the working tree and at `ref` (default: HEAD). A text is null if the file does not exist.
 * @throws HttpProblem 400 for an invalid revision; what `files.read` throws.
 */
export async function diffOf(
  files: SandboxFiles,
  path: string,
  { ref, commit }: { readonly ref: string | null; readonly commit: string | null },
): Promise<{ readonly modified: string | null; readonly original: string | null }> {
  checkRef(ref)
  const top = await topFolderOf(files, path)
  const name = `${await files.resolve(parentOf(path))}${path.slice(path.lastIndexOf('/'))}`
  const contentAt = async (revision: string): Promise<string | null> => {
    if (top === null) return null
    const object = `${revision}:${name.slice(top.length + 1)}`
    return files.git(top, ['show', '--no-textconv', '--no-ext-diff', object])
  }
  if (commit !== null) {
    const before = top === null ? commit : await treeOf(files, top, `${commit}^`)
    return { modified: await contentAt(commit), original: await contentAt(before) }
  }
  const modified = await files.read(path, MAX_BYTES).then(
    (bytes) => new TextDecoder().decode(bytes),
    (error: unknown) => {
      if (isMissing(error)) return null
      throw error
    },
  )
  return { modified, original: await contentAt(ref ?? 'HEAD') }
}

const operation = operationsIn('Git')

export const CHANGES = listOf(
  objectOf({ status: { type: 'string', enum: ['MOVED', 'ADDED', 'DELETED', 'UPDATED'] }, path: 'string' }),
)
export const DIFF = objectOf({ modified: 'string?', original: 'string?' })
const COMMIT = objectOf({
  sha: 'string',
  short_sha: 'string',
  subject: 'string',
  author: 'string',
  timestamp: 'string',
})

const sha = matching(/^[0-9a-fA-F]{4,64}$/, 'Must be 4 to 64 hexadecimal digits')

export const gitOperations = (files: SandboxFiles | null): Operation[] => [
  operation('get /api/git/changes', {
    name: 'git_changes_query',
    query: { path: text(), ref: optional(text()) },
    returns: CHANGES,
    description: 'By path; empty without a repository',
    otherwise: REFUSED,
    handle: ({ query: { path, ref } }) => changesOf(requireFiles(files), path, ref),
  }),
  operation('get /api/git/diff', {
    name: 'git_diff_query',
    query: { path: text(), ref: optional(text()), commit: optional(sha) },
    returns: DIFF,
    description: 'The current and the original file, each null if it does not exist',
    otherwise: { ...REFUSED, 413: 'The file is too large' },
    async handle({ query: { path, ref, commit } }) {
      if (ref !== null && commit !== null)
        throw new HttpProblem(400, 'Both `ref` and `commit` are set. Pass only one.')
      return diffOf(requireFiles(files), path, { ref, commit })
    },
  }),
  operation('get /api/git/commits', {
    name: 'git_commits_query',
    query: { path: text(), limit: withDefault(integer({ min: 1, max: 200 }), 50) },
    returns: objectOf({ commits: listOf(COMMIT), has_more: 'boolean' }),
    description: 'The latest first; empty without a repository',
    otherwise: REFUSED,
    handle: ({ query: { path, limit } }) => commitsOf(requireFiles(files), path, limit),
  }),
  operation('get /api/git/commits/{sha}/changes', {
    name: 'git_commit_changes_query',
    params: { sha },
    query: { path: text() },
    returns: CHANGES,
    description: 'The changes of the commit',
    otherwise: REFUSED,
    handle: ({ path, query }) => changesInCommit(requireFiles(files), query.path, path.sha),
  }),
]
