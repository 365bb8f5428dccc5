/*++

Module Name:

    Game.c

Abstract:

    What looks like a small game, for the transcripts of what a user sees: it
    loads levels, and updates and draws sprites frame by frame.

    usage: Game [FRAMES [crash]]

    With crash it writes where it may not when it draws the last frame.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAME_SPRITES 8

static int GameX[GAME_SPRITES];
static int GameY[GAME_SPRITES];
static int *volatile GameScreen;
static int GamePixels[64];

static __attribute__((noinline)) int
ReadLevel(
    int Level
    )
{
    int Index;

    for (Index = 0; Index < GAME_SPRITES; Index++) {
        GameX[Index] = Level * 7 + Index;
        GameY[Index] = Level * 3 + Index * Index;
    }

    return GAME_SPRITES;
}

static __attribute__((noinline)) int
ReadLevels(
    void
    )
{
    int Level;
    int Sprites = 0;

    for (Level = 0; Level < 3; Level++) {
        Sprites += ReadLevel(Level);
    }

    return Sprites;
}

static __attribute__((noinline)) int
Distance(
    int First,
    int Second
    )
{
    return abs(GameX[First] - GameX[Second]) +
           abs(GameY[First] - GameY[Second]);
}

static __attribute__((noinline)) int
FindCollisions(
    int Sprite
    )
{
    int Other;
    int Found = 0;

    for (Other = Sprite + 1; Other < GAME_SPRITES; Other++) {
        Found += Distance(Sprite, Other) < 3;
    }

    return Found;
}

static __attribute__((noinline)) int
UpdateSprites(
    int Frame
    )
{
    int Sprite;
    int Found = 0;

    for (Sprite = 0; Sprite < GAME_SPRITES; Sprite++) {
        GameX[Sprite] += Frame % 3;
        GameY[Sprite] -= Frame % 2;
        Found += FindCollisions(Sprite);
    }

    return Found;
}

static __attribute__((noinline)) void
DrawSprite(
    int Sprite
    )
{
    GameScreen[(GameX[Sprite] + GameY[Sprite]) & 63] = Sprite;
}

static __attribute__((noinline)) void
DrawFrame(
    int Frame,
    int IsLast
    )
{
    int Sprite;

    for (Sprite = 0; Sprite < GAME_SPRITES; Sprite++) {
        if (IsLast && Sprite == 2) {
            GameScreen = NULL;
        }

        DrawSprite(Sprite);
    }

    (void)Frame;
}

int
main(
    int Count,
    char **Arguments
    )
{
    int Frames = Count > 1 ? atoi(Arguments[1]) : 10;
    int IsCrash = Count > 2 && strcmp(Arguments[2], "crash") == 0;
    int Found = 0;
    int Frame;

    GameScreen = GamePixels;
    ReadLevels();
    for (Frame = 0; Frame < Frames; Frame++) {
        Found += UpdateSprites(Frame);
        DrawFrame(Frame, IsCrash && Frame + 1 == Frames);
    }

    printf("%d collisions\n", Found);
    return 0;
}
