#include "engine/io/pickle-read.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/io/bytes.h"

/* ---- arena ---- */

typedef struct NwArenaBlock {
  struct NwArenaBlock *next;
  size_t used, size;
} NwArenaBlock;

enum { BLOCK = 64 * 1024, HEAD = 64, ALIGN = 16, MAX_MEMO = 1 << 24 };

void *nw_pth_arena_alloc(NwNodeArena *arena, size_t size)
{
  if (size > arena->limit || arena->used > arena->limit - size)
    return NULL;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  NwArenaBlock *block = arena->blocks;
  if (block == NULL || block->size - block->used < size) {
    size_t room = size > BLOCK ? size : BLOCK;
    block = nw_alloc(HEAD + room);
    if (block == NULL)
      return NULL;
    *block = (NwArenaBlock){arena->blocks, 0, room};
    arena->blocks = block;
  }
  void *at = (char *)block + HEAD + block->used;
  block->used += size;
  arena->used += size;
  memset(at, 0, size);
  return at;
}

void nw_pth_arena_clear(NwNodeArena *arena)
{
  for (NwArenaBlock *block = arena->blocks, *next; block != NULL; block = next) {
    next = block->next;
    nw_free(block);
  }
  arena->blocks = NULL;
  arena->used = 0;
}

NwPthNode *nw_pth_node_new(NwNodeArena *arena, NwNodeKind kind)
{
  NwPthNode *node = nw_pth_arena_alloc(arena, sizeof *node);
  if (node != NULL)
    node->kind = kind;
  return node;
}

bool nw_pth_node_push(NwNodeArena *arena, NwPthNode *list, NwPthNode *item)
{
  if (item == NULL)
    return false;
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 4;
    NwPthNode **items = nw_pth_arena_alloc(arena, room * sizeof *items);
    if (items == NULL)
      return false;
    if (list->count > 0)
      memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->room = room;
  }
  list->items[list->count++] = item;
  return true;
}

/* ---- the machine ---- */

typedef struct Machine {
  NwUnpickle *context;
  const uint8_t *at, *end;
  NwPthNode **stack, **memo;
  size_t depth, stack_room, memo_room, memo_next;
  NwPthNode mark;
  NwError *error;
} Machine;

static NwStatus bad(Machine *m, const char *what)
{
  return nw_fail(m->error, NW_BAD_FORMAT, "The file's list of contents is damaged: %s.", what);
}

static NwStatus no_memory(Machine *m)
{
  return nw_fail(m->error, NW_NO_MEMORY, "The file's list of contents needs more memory than it may.");
}

static NwStatus need(Machine *m, uint64_t n, const uint8_t **bytes)
{
  *bytes = NULL;
  if ((uint64_t)(m->end - m->at) < n)
    return bad(m, "it is cut off");
  *bytes = m->at;
  m->at += n;
  return NW_OK;
}

static NwStatus push(Machine *m, NwPthNode *node)
{
  if (node == NULL)
    return no_memory(m);
  if (m->depth == m->stack_room) {
    size_t room = m->stack_room ? 2 * m->stack_room : 256;
    NwPthNode **stack = nw_realloc(m->stack, m->stack_room * sizeof *stack, room * sizeof *stack);
    if (stack == NULL)
      return no_memory(m);
    m->stack = stack;
    m->stack_room = room;
  }
  m->stack[m->depth++] = node;
  return NW_OK;
}

static NwStatus push_kind(Machine *m, NwNodeKind kind)
{
  return push(m, nw_pth_node_new(m->context->arena, kind));
}

static NwStatus push_int(Machine *m, NwNodeKind kind, int64_t value)
{
  NwPthNode *node = nw_pth_node_new(m->context->arena, kind);
  if (node != NULL)
    node->number = value;
  return push(m, node);
}

static NwStatus push_text(Machine *m, NwNodeKind kind, uint64_t n)
{
  const uint8_t *bytes;
  NW_TRY(need(m, n, &bytes));
  NwPthNode *node = nw_pth_node_new(m->context->arena, kind);
  char *text = nw_pth_arena_alloc(m->context->arena, n + 1);
  if (node == NULL || text == NULL)
    return no_memory(m);
  memcpy(text, bytes, n);
  node->text = text;
  node->length = n;
  return push(m, node);
}

static NwStatus top(Machine *m, NwPthNode **node)
{
  *node = NULL;
  if (m->depth == 0 || m->stack[m->depth - 1] == &m->mark)
    return bad(m, "a value is missing");
  *node = m->stack[m->depth - 1];
  return NW_OK;
}

static NwStatus pop(Machine *m, NwPthNode **node)
{
  NW_TRY(top(m, node));
  m->depth--;
  return NW_OK;
}

/* Stack index of the newest mark. */
static NwStatus find_mark(Machine *m, size_t *index)
{
  *index = 0;
  for (size_t i = m->depth; i > 0; i--)
    if (m->stack[i - 1] == &m->mark) {
      *index = i - 1;
      return NW_OK;
    }
  return bad(m, "a mark is missing");
}

/* The container below the newest mark, and where its new items begin. */
static NwStatus marked(Machine *m, size_t *mark, NwPthNode **container)
{
  *container = NULL;
  NW_TRY(find_mark(m, mark));
  if (*mark == 0 || m->stack[*mark - 1] == &m->mark)
    return bad(m, "items have no container");
  *container = m->stack[*mark - 1];
  return NW_OK;
}

/* Replaces stack[from...] by a container; drops `skip` entries (the mark) before it. */
static NwStatus gather(Machine *m, NwNodeKind kind, size_t from, size_t skip)
{
  NwPthNode *node = nw_pth_node_new(m->context->arena, kind);
  if (node == NULL)
    return no_memory(m);
  for (size_t i = from; i < m->depth; i++) {
    if (m->stack[i] == &m->mark)
      return bad(m, "a mark lies inside a tuple");
    if (!nw_pth_node_push(m->context->arena, node, m->stack[i]))
      return no_memory(m);
  }
  if (kind == NW_NODE_DICT && node->count % 2 != 0)
    return bad(m, "a key has no value");
  m->depth = from - skip;
  return push(m, node);
}

static NwStatus append_items(Machine *m, NwPthNode *container, size_t from, bool pairs)
{
  size_t n = m->depth - from;
  if (pairs && n % 2 != 0)
    return bad(m, "a key has no value");
  bool fits = pairs ? container->kind == NW_NODE_DICT
                    : container->kind == NW_NODE_LIST || container->kind == NW_NODE_SET;
  if (!fits && container->kind != NW_NODE_OBJECT)
    return bad(m, "items are put into something that holds none");
  for (size_t i = from; i < m->depth && fits; i++)
    if (!nw_pth_node_push(m->context->arena, container, m->stack[i]))
      return no_memory(m);
  return NW_OK;
}

static NwStatus read_line(Machine *m, const char **line)
{
  *line = NULL;
  const uint8_t *stop = memchr(m->at, '\n', (size_t)(m->end - m->at));
  if (stop == NULL)
    return bad(m, "a line has no end");
  size_t n = (size_t)(stop - m->at);
  char *text = nw_pth_arena_alloc(m->context->arena, n + 1);
  if (text == NULL)
    return no_memory(m);
  memcpy(text, m->at, n);
  m->at = stop + 1;
  *line = text;
  return NW_OK;
}

/* Integers of any length; those that do not fit into 64 bits are kept as their bytes. */
static NwStatus push_long(Machine *m, uint64_t n)
{
  const uint8_t *p;
  NW_TRY(need(m, n, &p));
  bool negative = n > 0 && (p[n - 1] & 0x80) != 0, fits = true;
  for (uint64_t i = 8; i < n; i++)
    fits = fits && p[i] == (negative ? 0xff : 0);
  if (n > 8)
    fits = fits && ((p[7] & 0x80) != 0) == negative;
  if (!fits) {
    m->at -= n;
    return push_text(m, NW_NODE_BYTES, n);
  }
  uint64_t value = negative ? ~(uint64_t)0 : 0;
  for (uint64_t i = n < 8 ? n : 8; i > 0; i--)
    value = value << 8 | p[i - 1];
  return push_int(m, NW_NODE_INT, (int64_t)value);
}

static NwStatus push_decimal(Machine *m, char opcode)
{
  const char *line;
  NW_TRY(read_line(m, &line));
  if (opcode == 'I' && (strcmp(line, "00") == 0 || strcmp(line, "01") == 0))
    return push_int(m, NW_NODE_BOOL, line[1] == '1');
  if (opcode != 'F')
    return push_int(m, NW_NODE_INT, strtoll(line, NULL, 10));
  NwPthNode *node = nw_pth_node_new(m->context->arena, NW_NODE_REAL);
  if (node == NULL)
    return no_memory(m);
  if (!nw_parse_double(line, &node->real))
    return bad(m, "a number cannot be read");
  return push(m, node);
}

static NwStatus push_real(Machine *m)
{
  const uint8_t *p;
  NW_TRY(need(m, 8, &p));
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++)
    bits = bits << 8 | p[i];
  NwPthNode *node = nw_pth_node_new(m->context->arena, NW_NODE_REAL);
  if (node != NULL)
    memcpy(&node->real, &bits, sizeof bits);
  return push(m, node);
}

static NwStatus push_global(Machine *m, bool from_stack)
{
  const char *module, *name;
  if (from_stack) {
    NwPthNode *a, *b;
    NW_TRY(pop(m, &b));
    NW_TRY(pop(m, &a));
    if (a->kind != NW_NODE_TEXT || b->kind != NW_NODE_TEXT)
      return bad(m, "a name is not a text");
    module = a->text;
    name = b->text;
  } else {
    NW_TRY(read_line(m, &module));
    NW_TRY(read_line(m, &name));
  }
  return push(m, nw_unpickle_global(m->context, module, name));
}

static NwStatus call(Machine *m, bool keywords)
{
  NwPthNode *function, *args, *ignored, *result;
  if (keywords)
    NW_TRY(pop(m, &ignored));
  NW_TRY(pop(m, &args));
  NW_TRY(pop(m, &function));
  if (args->kind != NW_NODE_TUPLE)
    return bad(m, "a call has no arguments");
  NW_TRY(nw_unpickle_call(m->context, function, args, &result, m->error));
  return push(m, result);
}

static NwStatus build(Machine *m)
{
  NwPthNode *state, *object;
  NW_TRY(pop(m, &state));
  NW_TRY(top(m, &object));
  if (object->kind == NW_NODE_OBJECT)
    object->state = state;
  else if (object->kind != NW_NODE_TENSOR && object->kind != NW_NODE_DICT)
    return bad(m, "a plain value is given a state");
  return NW_OK;
}

static NwStatus memo_put(Machine *m, uint64_t index)
{
  NwPthNode *node;
  NW_TRY(top(m, &node));
  /* an honest pickle spends at least a byte on every entry */
  if (index >= MAX_MEMO || index > (uint64_t)(m->end - m->at) + m->memo_next + 1024)
    return bad(m, "a memo number is too large");
  if (index >= m->memo_room) {
    size_t room = m->memo_room ? m->memo_room : 256;
    while (room <= index)
      room *= 2;
    NwPthNode **memo = nw_realloc(m->memo, m->memo_room * sizeof *memo, room * sizeof *memo);
    if (memo == NULL)
      return no_memory(m);
    memset(memo + m->memo_room, 0, (room - m->memo_room) * sizeof *memo);
    m->memo = memo;
    m->memo_room = room;
  }
  m->memo[index] = node;
  m->memo_next++;
  return NW_OK;
}

static NwStatus memo_get(Machine *m, uint64_t index)
{
  if (index >= m->memo_room || m->memo[index] == NULL)
    return bad(m, "a memo number stands for nothing");
  return push(m, m->memo[index]);
}

static NwStatus put_items(Machine *m, bool pairs)
{
  size_t mark;
  NwPthNode *container;
  NW_TRY(marked(m, &mark, &container));
  NW_TRY(append_items(m, container, mark + 1, pairs));
  m->depth = mark;
  return NW_OK;
}

static NwStatus put_last(Machine *m, size_t n, bool pairs)
{
  if (m->depth < n + 1)
    return bad(m, "a value is missing");
  for (size_t i = m->depth - n - 1; i < m->depth; i++)
    if (m->stack[i] == &m->mark)
      return bad(m, "a value is missing");
  NW_TRY(append_items(m, m->stack[m->depth - n - 1], m->depth - n, pairs));
  m->depth -= n;
  return NW_OK;
}

/* Length prefix of `width` bytes. */
static NwStatus read_length(Machine *m, int width, uint64_t *n)
{
  *n = 0;
  const uint8_t *p;
  NW_TRY(need(m, (uint64_t)width, &p));
  *n = width == 1 ? p[0] : width == 2 ? nw_get_u16(p) : width == 4 ? nw_get_u32(p) : nw_get_u64(p);
  return NW_OK;
}

static NwStatus step_container(Machine *m, int opcode)
{
  size_t mark = 0;
  switch (opcode) {
  case ')':
    return push_kind(m, NW_NODE_TUPLE);
  case ']':
    return push_kind(m, NW_NODE_LIST);
  case '}':
    return push_kind(m, NW_NODE_DICT);
  case 0x8f:
    return push_kind(m, NW_NODE_SET);
  case 0x85:
  case 0x86:
  case 0x87:
    if (m->depth < (size_t)(opcode - 0x84))
      return bad(m, "a value is missing");
    return gather(m, NW_NODE_TUPLE, m->depth - (size_t)(opcode - 0x84), 0);
  case 't':
  case 'l':
  case 'd':
    NW_TRY(find_mark(m, &mark));
    return gather(m,
                  opcode == 't'   ? NW_NODE_TUPLE
                  : opcode == 'l' ? NW_NODE_LIST
                                  : NW_NODE_DICT,
                  mark + 1, 1);
  case 'a':
    return put_last(m, 1, false);
  case 's':
    return put_last(m, 2, true);
  case 'e':
  case 0x90:
    return put_items(m, false);
  default: /* 'u' */
    return put_items(m, true);
  }
}

static NwStatus step_text(Machine *m, int opcode)
{
  bool bytes = opcode == 'B' || opcode == 'C' || opcode == 0x8e || opcode == 0x96;
  int width = 4;
  if (opcode == 0x8c || opcode == 'U' || opcode == 'C')
    width = 1;
  else if (opcode == 0x8d || opcode == 0x8e || opcode == 0x96)
    width = 8;
  uint64_t n;
  NW_TRY(read_length(m, width, &n));
  return push_text(m, bytes ? NW_NODE_BYTES : NW_NODE_TEXT, n);
}

static NwStatus step_number(Machine *m, int opcode)
{
  uint64_t n;
  switch (opcode) {
  case 'K':
    NW_TRY(read_length(m, 1, &n));
    return push_int(m, NW_NODE_INT, (int64_t)n);
  case 'M':
    NW_TRY(read_length(m, 2, &n));
    return push_int(m, NW_NODE_INT, (int64_t)n);
  case 'J':
    NW_TRY(read_length(m, 4, &n));
    return push_int(m, NW_NODE_INT, (int32_t)(uint32_t)n);
  case 0x8a:
  case 0x8b:
    NW_TRY(read_length(m, opcode == 0x8a ? 1 : 4, &n));
    return push_long(m, n);
  case 'G':
    return push_real(m);
  case 0x88:
  case 0x89:
    return push_int(m, NW_NODE_BOOL, opcode == 0x88);
  default: /* 'I' 'L' 'F' */
    return push_decimal(m, (char)opcode);
  }
}

static NwStatus step_memo(Machine *m, int opcode)
{
  uint64_t n = m->memo_next;
  if (opcode != 0x94)
    NW_TRY(read_length(m, opcode == 'q' || opcode == 'h' ? 1 : 4, &n));
  return opcode == 'h' || opcode == 'j' ? memo_get(m, n) : memo_put(m, n);
}

static NwStatus step_stack(Machine *m, int opcode)
{
  NwPthNode *node;
  uint64_t n;
  const uint8_t *skipped;
  switch (opcode) {
  case 0x80:
    NW_TRY(read_length(m, 1, &n));
    if (n > 5)
      return nw_fail(m->error, NW_TOO_NEW, "The file uses pickle protocol %u; up to 5 can be read.",
                     (unsigned)n);
    return NW_OK;
  case 0x95:
    return need(m, 8, &skipped);
  case '(':
    return push(m, &m->mark);
  case '0':
    return pop(m, &node);
  case '1': {
    size_t mark;
    NW_TRY(find_mark(m, &mark));
    m->depth = mark;
    return NW_OK;
  }
  case '2':
    NW_TRY(top(m, &node));
    return push(m, node);
  default: /* 'N' */
    return push_kind(m, NW_NODE_NONE);
  }
}

static NwStatus step_object(Machine *m, int opcode)
{
  NwPthNode *node;
  switch (opcode) {
  case 'c':
  case 0x93:
    return push_global(m, opcode == 0x93);
  case 'R':
  case 0x81:
  case 0x92:
    return call(m, opcode == 0x92);
  case 'b':
    return build(m);
  default: /* 'Q' */
    NW_TRY(pop(m, &node));
    NW_TRY(nw_unpickle_persistent(m->context, node, &node, m->error));
    return push(m, node);
  }
}

static NwStatus step(Machine *m, int opcode)
{
  switch (opcode) {
  case 0x80:
  case 0x95:
  case '(':
  case '0':
  case '1':
  case '2':
  case 'N':
    return step_stack(m, opcode);
  case 'K':
  case 'M':
  case 'J':
  case 'I':
  case 'L':
  case 'F':
  case 'G':
  case 0x8a:
  case 0x8b:
  case 0x88:
  case 0x89:
    return step_number(m, opcode);
  case 'X':
  case 0x8c:
  case 0x8d:
  case 'U':
  case 'T':
  case 'B':
  case 'C':
  case 0x8e:
  case 0x96:
    return step_text(m, opcode);
  case ')':
  case ']':
  case '}':
  case 0x8f:
  case 0x85:
  case 0x86:
  case 0x87:
  case 't':
  case 'l':
  case 'd':
  case 'a':
  case 's':
  case 'e':
  case 0x90:
  case 'u':
    return step_container(m, opcode);
  case 'q':
  case 'r':
  case 'h':
  case 'j':
  case 0x94:
    return step_memo(m, opcode);
  case 'c':
  case 0x93:
  case 'R':
  case 0x81:
  case 0x92:
  case 'b':
  case 'Q':
    return step_object(m, opcode);
  default:
    return nw_fail(m->error, NW_UNSUPPORTED,
                   "The file asks for the pickle operation 0x%02x, which is not allowed.", opcode);
  }
}

NwStatus nw_unpickle(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root, NwError *error)
{
  Machine m = {.context = context, .at = bytes, .end = bytes + n, .error = error};
  m.mark.kind = NW_NODE_MARK;
  NwStatus status = NW_OK;
  while (status == NW_OK) {
    const uint8_t *opcode;
    status = need(&m, 1, &opcode);
    if (status != NW_OK)
      break;
    if (*opcode == '.') {
      status = pop(&m, root);
      break;
    }
    status = step(&m, *opcode);
  }
  context->used = (size_t)(m.at - bytes);
  nw_free(m.stack);
  nw_free(m.memo);
  return status;
}
