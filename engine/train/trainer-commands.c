#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/train/trainer-internal.h"

void nw_trainer_set_state(NwTrainer *trainer, NwTrainerState state)
{
  atomic_store(&trainer->state, (int)state);
  if (trainer->observer.state != NULL)
    trainer->observer.state(trainer->observer.owner, state);
}

NwTrainerState nw_trainer_state(const NwTrainer *trainer)
{
  return (NwTrainerState)atomic_load(&trainer->state);
}

void nw_trainer_remark(NwTrainer *trainer, const char *format, ...)
{
  char text[640];
  va_list list;
  if (trainer->observer.remark == NULL)
    return;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  trainer->observer.remark(trainer->observer.owner, text);
}

void nw_trainer_pause(NwTrainer *trainer)
{
  pthread_mutex_lock(&trainer->lock);
  trainer->pause = true;
  pthread_mutex_unlock(&trainer->lock);
}

void nw_trainer_continue(NwTrainer *trainer)
{
  pthread_mutex_lock(&trainer->lock);
  trainer->pause = false;
  pthread_cond_broadcast(&trainer->wake);
  pthread_mutex_unlock(&trainer->lock);
}

void nw_trainer_stop(NwTrainer *trainer)
{
  pthread_mutex_lock(&trainer->lock);
  trainer->stop = true;
  pthread_cond_broadcast(&trainer->wake);
  pthread_mutex_unlock(&trainer->lock);
}

void nw_trainer_set_lr(NwTrainer *trainer, double lr)
{
  if (!(lr > 0) || isinf(lr))
    return;
  pthread_mutex_lock(&trainer->lock);
  trainer->has_lr = true;
  trainer->new_lr = lr;
  pthread_mutex_unlock(&trainer->lock);
}

typedef struct Orders {
  bool pause, stop, has_lr;
  double lr;
} Orders;

static Orders take_orders(NwTrainer *trainer)
{
  pthread_mutex_lock(&trainer->lock);
  Orders orders = {trainer->pause, trainer->stop, trainer->has_lr, trainer->new_lr};
  trainer->has_lr = false;
  pthread_mutex_unlock(&trainer->lock);
  if (orders.has_lr) {
    trainer->config.lr = orders.lr;
    trainer->unsaved = true;
  }
  return orders;
}

static void wait_for_orders(NwTrainer *trainer)
{
  pthread_mutex_lock(&trainer->lock);
  while (trainer->pause && !trainer->stop)
    pthread_cond_wait(&trainer->wake, &trainer->lock);
  pthread_mutex_unlock(&trainer->lock);
}

/* A run that was stopped and could not be saved has lost something, and its owner must hear of it. */
static NwStatus stop(NwTrainer *trainer, NwError *error)
{
  nw_trainer_set_state(trainer, NW_TRAINER_STOPPING);
  if (trainer->folder != NULL && trainer->unsaved)
    NW_TRY(nw_trainer_save(trainer, "last", error));
  return nw_fail(error, NW_CANCELLED, "The training was stopped.");
}

NwStatus nw_trainer_obey(NwTrainer *trainer, NwError *error)
{
  Orders orders = take_orders(trainer);
  if (orders.pause && !orders.stop) {
    if (trainer->unsaved)
      nw_trainer_save_last(trainer);
    nw_trainer_set_state(trainer, NW_TRAINER_PAUSED);
    wait_for_orders(trainer);
    orders = take_orders(trainer);
    if (!orders.stop)
      nw_trainer_set_state(trainer, NW_TRAINER_RUNNING);
  }
  return orders.stop ? stop(trainer, error) : NW_OK;
}
